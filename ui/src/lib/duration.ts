import type { TFunction } from 'i18next';
import { isInteger } from './int64';

const steps = [
  ['days', 86_400_000n],
  ['hours', 3_600_000n],
  ['minutes', 60_000n],
  ['seconds', 1000n],
] as const;

const longest = 9_223_372_036_854_775_807n;

/** Milliseconds in the largest unit that divides them, exact: 7 d, 36 h, 1500 ms. -1 is for ever. */
export function formatRetention(ms: string, t: TFunction): string {
  if (!isInteger(ms)) return ms;
  const value = BigInt(ms);
  if (value === longest) return t('duration.max');
  if (value < 0n) return t('duration.forever');
  for (const [unit, size] of steps) {
    if (value >= size && value % size === 0n) return t(`duration.${unit}`, { n: (value / size).toString() });
  }
  return t('duration.millis', { n: value.toString() });
}

/** How long ago, in the largest whole unit. */
export function formatAgo(ms: bigint, t: TFunction): string {
  if (ms < 0n) return t('duration.ahead');
  for (const [unit, size] of steps) {
    if (ms >= size) return t('duration.ago', { time: t(`duration.${unit}`, { n: (ms / size).toString() }) });
  }
  return t('duration.now');
}
