import { describe, expect, it } from 'vitest';
import { formatClock, formatDate, formatISO, formatTime, parseTime } from './time';

const epoch = '1796049007112'; // 2026-11-30T14:30:07.112Z

describe('times are written', () => {
  it('in the zone', () => {
    expect(formatTime(epoch, 'UTC')).toBe('2026-11-30 14:30:07.112');
    expect(formatTime(epoch, 'Asia/Kolkata')).toBe('2026-11-30 20:00:07.112');
    expect(formatClock(epoch, 'Europe/Berlin')).toBe('15:30:07.112');
    expect(formatDate('1796083200000', 'America/New_York')).toBe('2026-11-30');
  });
  it('as ISO 8601 with the offset', () => {
    expect(formatISO(epoch, 'UTC')).toBe('2026-11-30T14:30:07.112Z');
    expect(formatISO(epoch, 'Asia/Kolkata')).toBe('2026-11-30T20:00:07.112+05:30');
    expect(formatISO(epoch, 'America/New_York')).toBe('2026-11-30T09:30:07.112-05:00');
  });
  it('before 1970 and at its edge', () => {
    expect(formatTime('-1', 'UTC')).toBe('1969-12-31 23:59:59.999');
    expect(formatTime('0', 'UTC')).toBe('1970-01-01 00:00:00.000');
    expect(formatTime('-62198755200000', 'UTC')).toBe('-000001-01-01 00:00:00.000');
  });
  it('as the number where no date can be', () => {
    expect(formatTime('9223372036854775807', 'UTC')).toBe('9223372036854775807');
  });
});

describe('times are read', () => {
  const now = Number(epoch);
  const read = (text: string, zone = 'UTC') => {
    const moment = parseTime(text, zone, now);
    return moment === null ? null : formatISO(moment, 'UTC');
  };
  it('in every form people type', () => {
    expect(read('2026-03-01 02:30')).toBe('2026-03-01T02:30:00.000Z');
    expect(read('2026-03-01')).toBe('2026-03-01T00:00:00.000Z');
    expect(read('2026-03-01T02:30:05.25Z')).toBe('2026-03-01T02:30:05.250Z');
    expect(read('2026-03-01T02:30:05+03:00')).toBe('2026-02-28T23:30:05.000Z');
    expect(read(epoch)).toBe('2026-11-30T14:30:07.112Z');
    expect(read('-1h')).toBe('2026-11-30T13:30:07.112Z');
    expect(read('-2d')).toBe('2026-11-28T14:30:07.112Z');
    expect(read('now')).toBe('2026-11-30T14:30:07.112Z');
    expect(read('yesterday')).toBe('2026-11-29T00:00:00.000Z');
    expect(read('вчера')).toBe('2026-11-29T00:00:00.000Z');
  });
  it('in the zone, both for words and for wall clocks', () => {
    expect(read('2026-03-01 02:30', 'Asia/Kolkata')).toBe('2026-02-28T21:00:00.000Z');
    expect(read('today', 'Asia/Kolkata')).toBe('2026-11-29T18:30:00.000Z');
  });
  it('in a gap of summer time as the moment after it', () => {
    expect(read('2025-03-30T02:30', 'Europe/Berlin')).toBe('2025-03-30T01:30:00.000Z');
    expect(read('2025-03-30T03:30', 'Europe/Berlin')).toBe('2025-03-30T01:30:00.000Z');
    expect(read('2025-03-30T01:59', 'Europe/Berlin')).toBe('2025-03-30T00:59:00.000Z');
  });
  it('or refused', () => {
    for (const text of [
      '',
      'soon',
      '2026-13-01',
      '2026-02-30',
      '2026-03-01 25:00',
      '12',
      '99999999999999999999',
    ]) {
      expect(read(text)).toBeNull();
    }
  });
  it('so that what was written is read back', () => {
    for (const zone of ['UTC', 'Asia/Kolkata', 'America/St_Johns']) {
      expect(parseTime(formatTime(epoch, zone), zone, now)).toBe(epoch);
    }
  });
});
