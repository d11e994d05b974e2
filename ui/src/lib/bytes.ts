/** Bytes of standard base64. */
export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Standard base64 of bytes. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

/** Bytes of hex digits; blanks and colons between them are ignored. Null when it is not hex. */
export function fromHex(text: string): Uint8Array | null {
  const digits = text.replace(/[\s:]/g, '');
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) return null;
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16);
  return bytes;
}

/** Lower-case hex with a blank between bytes. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

/** Hex digits with a blank between bytes, whether they had one or not. */
export function spaceHex(hex: string): string {
  return (hex.replace(/\s/g, '').match(/../g) ?? []).join(' ');
}

/** Text when the bytes are UTF-8 throughout, else null. A byte order mark stays. */
export function fromUTF8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

export interface HexRow {
  /** Offset of the first byte, eight hex digits. */
  offset: string;
  /** The bytes in groups of eight. */
  hex: string;
  /** Printable ASCII, a dot for the rest. */
  text: string;
}

/** How many rows a dump of that many bytes has. */
export function hexRowCount(length: number, perRow: 8 | 16): number {
  return Math.ceil(length / perRow);
}

/** One row of a hex dump: groups of eight bytes, the last one filled up with blanks. */
export function hexRow(bytes: Uint8Array, row: number, perRow: 8 | 16): HexRow {
  const slice = bytes.subarray(row * perRow, (row + 1) * perRow);
  const group = (from: number) => toHex(slice.subarray(from, from + 8)).padEnd(8 * 3 - 1);
  return {
    offset: (row * perRow).toString(16).padStart(8, '0'),
    hex: perRow === 8 ? group(0) : `${group(0)}  ${group(8)}`,
    text: Array.from(slice, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join(
      '',
    ),
  };
}
