import { isInteger } from './int64';

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
const russianUnits = ['Б', 'кБ', 'МБ', 'ГБ', 'ТБ', 'ПБ', 'ЭБ'];

/** A byte count in powers of 1000 with three digits at most: 462 B, 1.9 TB. Exact below 1000. */
export function formatSize(bytes: string | number, locale: string): string {
  const text = typeof bytes === 'number' ? Math.trunc(bytes).toString() : bytes;
  if (!isInteger(text)) return text;
  const names = locale.startsWith('ru') ? russianUnits : units;
  const value = BigInt(text);
  const negative = value < 0n;
  let rest = negative ? -value : value;
  let tenths = 0n;
  let unit = 0;
  while (rest >= 1000n && unit < names.length - 1) {
    tenths = (rest % 1000n) / 100n;
    rest /= 1000n;
    unit++;
  }
  const point = locale.startsWith('ru') ? ',' : '.';
  const fraction = unit > 0 && rest < 100n && tenths > 0n ? `${point}${tenths}` : '';
  return `${negative ? '-' : ''}${rest}${fraction} ${names[unit]}`;
}
