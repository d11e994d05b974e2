import { expect, it } from 'vitest';
import { fromBase64, fromHex, fromUTF8, hexRow, hexRowCount, spaceHex, toBase64, toHex } from './bytes';

it('reads and writes base64 of any length', () => {
  const bytes = Uint8Array.from({ length: 40_000 }, (_, index) => index % 256);
  expect(fromBase64(toBase64(bytes))).toEqual(bytes);
});

it('reads hex with blanks and colons, and refuses what is none', () => {
  expect(fromHex('00 ff:7A')).toEqual(Uint8Array.of(0, 255, 122));
  expect(fromHex('')).toEqual(new Uint8Array());
  expect(fromHex('0')).toBeNull();
  expect(fromHex('zz')).toBeNull();
  expect(toHex(Uint8Array.of(0, 255))).toBe('00 ff');
  expect(spaceHex('00ff')).toBe('00 ff');
  expect(spaceHex('00 ff')).toBe('00 ff');
});

it('takes text only when all of it is UTF-8', () => {
  expect(fromUTF8(new TextEncoder().encode('Привет'))).toBe('Привет');
  expect(fromUTF8(Uint8Array.of(0x63, 0xe9))).toBeNull();
});

it('dumps rows of sixteen or eight bytes', () => {
  const bytes = new TextEncoder().encode('{"order":42}\u0000\u007f<last>');
  expect(hexRowCount(bytes.length, 16)).toBe(2);
  expect(hexRow(bytes, 0, 16)).toEqual({
    offset: '00000000',
    hex: '7b 22 6f 72 64 65 72 22  3a 34 32 7d 00 7f 3c 6c',
    text: '{"order":42}..<l',
  });
  expect(hexRow(bytes, 2, 8)).toEqual({ offset: '00000010', hex: '61 73 74 3e            ', text: 'ast>' });
});
