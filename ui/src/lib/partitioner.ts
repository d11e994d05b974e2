// The hash by which Java clients place a record with a key: murmur2, seed 0x9747b28c, then positive modulo.

const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** 32-bit signed murmur2, as org.apache.kafka.common.utils.Utils.murmur2. */
export function murmur2(data: Uint8Array): number {
  const length = data.length;
  let h = seed ^ length;
  const whole = length - (length % 4);
  for (let i = 0; i < whole; i += 4) {
    let k =
      (data[i] ?? 0) | ((data[i + 1] ?? 0) << 8) | ((data[i + 2] ?? 0) << 16) | ((data[i + 3] ?? 0) << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    k = Math.imul(k, m);
    h = Math.imul(h, m) ^ k;
  }
  const tail = length % 4;
  if (tail === 3) h ^= (data[whole + 2] ?? 0) << 16;
  if (tail >= 2) h ^= (data[whole + 1] ?? 0) << 8;
  if (tail >= 1) h = Math.imul(h ^ (data[whole] ?? 0), m);
  h ^= h >>> 13;
  h = Math.imul(h, m);
  h ^= h >>> 15;
  return h | 0;
}

/** The partition the Java default partitioner chooses for this key; null for a null key: any partition. */
export function partitionFor(key: Uint8Array | null, partitions: number): number | null {
  if (key === null || partitions <= 0) return null;
  return (murmur2(key) & 0x7fffffff) % partitions;
}
