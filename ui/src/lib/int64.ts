// 64-bit integers travel as decimal strings and are worked on as BigInt. Nothing here makes a Number of one.

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(locale: string): Intl.NumberFormat {
  let format = formats.get(locale);
  if (!format) {
    format = new Intl.NumberFormat(locale, { useGrouping: true, maximumFractionDigits: 0 });
    formats.set(locale, format);
  }
  return format;
}

/** True for an optional minus sign and at least one digit. */
export function isInteger(text: string): boolean {
  return /^-?\d+$/.test(text);
}

/** All digits, with the locale's thousands separators. What is no integer comes back unchanged. */
export function groupDigits(value: string | number | bigint, locale: string): string {
  const text = typeof value === 'string' ? value : value.toString();
  if (!isInteger(text)) return text;
  return numberFormat(locale).format(BigInt(text));
}

/** Order of two integers in text; what is no integer comes first. */
export function compareIntegers(a: string | undefined, b: string | undefined): number {
  const left = a !== undefined && isInteger(a) ? BigInt(a) : null;
  const right = b !== undefined && isInteger(b) ? BigInt(b) : null;
  if (left === null || right === null) return (left === null ? 0 : 1) - (right === null ? 0 : 1);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** a - b, exact. */
export function subtract(a: string, b: string): string {
  return (BigInt(a) - BigInt(b)).toString();
}

/** a + b, exact. */
export function add(a: string, b: string): string {
  return (BigInt(a) + BigInt(b)).toString();
}

/** The sum of all that are integers. */
export function sum(values: Iterable<string | undefined>): string {
  let total = 0n;
  for (const value of values) {
    if (value !== undefined && isInteger(value)) total += BigInt(value);
  }
  return total.toString();
}
