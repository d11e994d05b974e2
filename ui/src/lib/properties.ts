/**
 * Java properties text as a record: comments, "=" or ":" or a blank between name and value, a backslash that joins
 * lines, \uXXXX. Of a repeated name the last counts.
 */
export function parseProperties(text: string): Record<string, string> {
  const properties: Record<string, string> = {};
  const lines = text.split(/\r\n|\n|\r/);
  for (let i = 0; i < lines.length; i++) {
    let line = (lines[i] ?? '').trimStart();
    if (line === '' || line.startsWith('#') || line.startsWith('!')) continue;
    while (/(^|[^\\])(\\\\)*\\$/.test(line) && i + 1 < lines.length) {
      line = line.slice(0, -1) + (lines[++i] ?? '').trimStart();
    }
    const match = /^((?:\\.|[^\\\s:=])+)\s*[:=\s]?\s*(.*)$/s.exec(line);
    if (match) properties[unescapeProperty(match[1] ?? '')] = unescapeProperty((match[2] ?? '').trimEnd());
  }
  return properties;
}

const escapes: Record<string, string> = { t: '\t', n: '\n', r: '\r', f: '\f' };

function unescapeProperty(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(.))/gs,
    (_, code: string | undefined, char: string | undefined) =>
      code ? String.fromCharCode(Number.parseInt(code, 16)) : (escapes[char ?? ''] ?? char ?? ''),
  );
}

/** The record as properties text, which parseProperties reads back. */
export function formatProperties(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(
      ([name, value]) =>
        `${name.replace(/[\\:=\s]/g, '\\$&')}=${value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`,
    )
    .join('\n');
}
