import { isInteger } from './int64';

/** 'UTC', 'local' (the browser's zone) or an IANA name. */
export type Zone = string;

const maxDate = 8_640_000_000_000_000n; // the last millisecond a Date can hold

/** The name that stands beside every time: UTC or the IANA name. */
export function zoneName(zone: Zone): string {
  return zone === 'local' ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;
}

interface Fields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function zoneFormat(zone: Zone): Intl.DateTimeFormat {
  const name = zoneName(zone);
  let format = formats.get(name);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: name,
      calendar: 'gregory',
      era: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(name, format);
  }
  return format;
}

function fieldsIn(ms: number, zone: Zone): Fields {
  const fields: Record<string, number> = {};
  let beforeChrist = false;
  for (const part of zoneFormat(zone).formatToParts(ms)) {
    if (part.type === 'era') beforeChrist = part.value.startsWith('B');
    else if (part.type !== 'literal') fields[part.type] = Number(part.value);
  }
  const year = beforeChrist ? 1 - (fields.year ?? 1) : (fields.year ?? 0);
  return { ...(fields as unknown as Fields), year };
}

/** Minutes the zone is ahead of UTC at that moment. */
function offsetMinutes(ms: number, zone: Zone): number {
  const f = fieldsIn(ms, zone);
  const date = new Date(0);
  date.setUTCFullYear(f.year, f.month - 1, f.day);
  date.setUTCHours(f.hour, f.minute, f.second, 0);
  const wholeSecond = Math.floor(ms / 1000) * 1000;
  return Math.round((date.getTime() - wholeSecond) / 60_000);
}

function pad(value: number, width: number): string {
  return value.toString().padStart(width, '0');
}

function padYear(year: number): string {
  return year < 0 ? `-${pad(-year, 6)}` : year > 9999 ? `+${pad(year, 6)}` : pad(year, 4);
}

/** An epoch in milliseconds as a Date can take it, or null when it lies outside what a Date can hold. */
function toMillis(epoch: string): number | null {
  if (!isInteger(epoch)) return null;
  const value = BigInt(epoch);
  return value > maxDate || value < -maxDate ? null : Number(value);
}

/** 2026-11-28, in the zone; the number itself when it is no date. */
export function formatDate(epoch: string, zone: Zone): string {
  const ms = toMillis(epoch);
  if (ms === null) return epoch;
  const f = fieldsIn(ms, zone);
  return `${padYear(f.year)}-${pad(f.month, 2)}-${pad(f.day, 2)}`;
}

/** 14:32:46.666, in the zone; the number itself when it is no date. */
export function formatClock(epoch: string, zone: Zone): string {
  const ms = toMillis(epoch);
  if (ms === null) return epoch;
  const f = fieldsIn(ms, zone);
  const fraction = ((ms % 1000) + 1000) % 1000;
  return `${pad(f.hour, 2)}:${pad(f.minute, 2)}:${pad(f.second, 2)}.${pad(fraction, 3)}`;
}

/** 2026-11-28 14:32:46.666, in the zone. The caller writes the zone beside it. */
export function formatTime(epoch: string, zone: Zone): string {
  if (toMillis(epoch) === null) return epoch;
  return `${formatDate(epoch, zone)} ${formatClock(epoch, zone)}`;
}

/** ISO 8601 with the zone's offset: 2026-11-28T14:32:46.666Z or ...+03:00. */
export function formatISO(epoch: string, zone: Zone): string {
  const ms = toMillis(epoch);
  if (ms === null) return epoch;
  const minutes = offsetMinutes(ms, zone);
  const sign = minutes < 0 ? '-' : '+';
  const distance = Math.abs(minutes);
  const offset =
    zoneName(zone) === 'UTC' ? 'Z' : `${sign}${pad(Math.floor(distance / 60), 2)}:${pad(distance % 60, 2)}`;
  return `${formatDate(epoch, zone)}T${formatClock(epoch, zone)}${offset}`;
}

/** The moment at which a wall clock in the zone shows these fields. In a gap (summer time begins) the later one. */
function wallClock(utc: number, zone: Zone): number {
  const first = utc - offsetMinutes(utc, zone) * 60_000;
  const second = utc - offsetMinutes(first, zone) * 60_000;
  return offsetMinutes(second, zone) === offsetMinutes(first, zone) ? second : Math.max(first, second);
}

const relativeUnits: Record<string, number> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3})\d*)?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;

function dayStart(now: number, zone: Zone, daysBack: number): number {
  const f = fieldsIn(now, zone);
  return wallClock(Date.UTC(f.year, f.month - 1, f.day - daysBack), zone);
}

function parseOffset(text: string): number {
  if (/^(z|utc)$/i.test(text)) return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return text.startsWith('-') ? -minutes : minutes;
}

/**
 * What people type for a moment: ISO 8601, "2026-03-01 02:30", a date, epoch milliseconds, "-1h", "now",
 * "today", "yesterday" (Russian words too). Without an offset the text is read in the zone. Null when it is none.
 */
export function parseTime(input: string, zone: Zone, now: number): string | null {
  const text = input.trim();
  const word = text.toLowerCase();
  if (word === 'now' || word === 'сейчас') return now.toString();
  if (word === 'today' || word === 'сегодня') return dayStart(now, zone, 0).toString();
  if (word === 'yesterday' || word === 'вчера') return dayStart(now, zone, 1).toString();
  const relative = /^-\s*(\d{1,9})\s*([smhdw])$/.exec(word);
  if (relative) return (now - Number(relative[1]) * (relativeUnits[relative[2] ?? ''] ?? 0)).toString();
  if (/^-?\d{5,}$/.test(text)) return toMillis(text) === null ? null : BigInt(text).toString();
  const match = dateTime.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const utc = Date.UTC(
    year ?? 0,
    (month ?? 1) - 1,
    day ?? 1,
    hour,
    minute,
    second,
    Number((match[7] ?? '0').padEnd(3, '0')),
  );
  const check = new Date(utc);
  if (check.getUTCMonth() + 1 !== month || check.getUTCDate() !== day || check.getUTCHours() !== hour)
    return null;
  if (check.getUTCMinutes() !== minute || check.getUTCSeconds() !== second) return null;
  return (match[8] ? utc - parseOffset(match[8]) * 60_000 : wallClock(utc, zone)).toString();
}
