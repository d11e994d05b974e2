import { expect, it } from 'vitest';
import { murmur2, partitionFor } from './partitioner';

// Hashes computed by org.apache.kafka.common.utils.Utils.murmur2 of Kafka 4.4.
it.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('murmur2 of %s', (text, hash) => {
  expect(murmur2(new TextEncoder().encode(text))).toBe(hash);
});

it('chooses a partition as the Java client does, none for a null key', () => {
  expect(partitionFor(new TextEncoder().encode('foobar'), 12)).toBe((-790332482 & 0x7fffffff) % 12);
  expect(partitionFor(new Uint8Array(), 12)).toBeTypeOf('number');
  expect(partitionFor(null, 12)).toBeNull();
});
