// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import i18n from '../i18n';
import { formatAgo, formatRetention } from './duration';
import { plural } from './format';

it('chooses plural forms in both languages, for counts of any size', async () => {
  const words = (language: string, n: string) =>
    i18n.getFixedT(language)('count.records', plural(n, language)).replace(/\s/g, ' ');
  expect(words('en', '1')).toBe('1 record');
  expect(words('en', '1001')).toBe('1,001 records');
  expect(words('ru', '1')).toBe('1 запись');
  expect(words('ru', '3')).toBe('3 записи');
  expect(words('ru', '11')).toBe('11 записей');
  expect(words('ru', '1021')).toBe('1 021 запись');
  expect(words('ru', '9223372036854775803')).toBe('9 223 372 036 854 775 803 записи');
});

it('writes durations in the unit that keeps them exact', () => {
  const t = i18n.getFixedT('en');
  expect(formatRetention('604800000', t)).toBe('7 d');
  expect(formatRetention('129600000', t)).toBe('36 h');
  expect(formatRetention('1500', t)).toBe('1500 ms');
  expect(formatRetention('-1', t)).toBe('for ever');
  expect(formatRetention('9223372036854775807', t)).toBe('no limit');
  expect(formatAgo(125_000n, t)).toBe('2 min ago');
  expect(formatAgo(0n, t)).toBe('just now');
});
