import { expect, it } from 'vitest';
import { formatSize } from './size';

it.each([
  ['0', '0 B'],
  ['462', '462 B'],
  ['999', '999 B'],
  ['1000', '1 kB'],
  ['61500', '61.5 kB'],
  ['130999', '130 kB'],
  ['1900000000000', '1.9 TB'],
  ['9223372036854775807', '9.2 EB'],
  ['-1500', '-1.5 kB'],
])('%s bytes are %s', (bytes, text) => {
  expect(formatSize(bytes, 'en')).toBe(text);
});

it('writes Russian units and comma', () => {
  expect(formatSize('1900000', 'ru')).toBe('1,9 МБ');
});
