import { expect, it } from 'vitest';
import { decodeName, encodeName, paths } from './paths';

const names = [
  'data/data-serving:fwd',
  'p_#x',
  'principal@c',
  'a.b',
  "A'1[[X, Y]]",
  '%41',
  'Привет мир',
  '.',
  '..',
  '',
  '~x',
  '~',
  'a?b&c',
  '😀',
];

it.each(names)('the group name %j survives an address', (name) => {
  const path = paths.group('local', name);
  // What a browser makes of it: dot segments fold, the rest stays as written.
  const { pathname, search, hash } = new URL(path, 'http://localhost');
  expect(search + hash).toBe('');
  const segment = pathname.split('/').pop() ?? '';
  expect(decodeName(decodeURIComponent(segment))).toBe(name);
});

it('keeps plain names readable', () => {
  expect(encodeName('orders.events.v3')).toBe('orders.events.v3');
  expect(paths.topic('local', 'orders', 'partitions')).toBe('/clusters/local/topics/orders/partitions');
});
