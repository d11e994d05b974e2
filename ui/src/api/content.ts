import { api, base, problemOf, toProblem, unwrap } from './client';
import type { Slice } from './types';

/** A key, value or header of one record. */
export interface Part {
  cluster: string;
  topic: string;
  partition: number;
  offset: string;
  part: 'key' | 'value' | 'header';
  /** Index, for a header. */
  header?: number;
}

export type View = 'pretty' | 'text' | 'hex';

/** A further slice of a long content. */
export function readSlice(part: Part, view: View, from: string): Promise<Slice> {
  const { cluster, topic, partition, offset } = part;
  return unwrap(
    api.GET('/api/v1/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}/slice', {
      params: {
        path: { cluster, topic, partition, offset },
        query: { part: part.part, header: part.header, view, from, length: 262_144 },
      },
    }),
  );
}

/** Where the exact bytes of a part are downloaded from. */
export function bytesURL({ cluster, topic, partition, offset, part, header }: Part): string {
  const query = new URLSearchParams({ part });
  if (header !== undefined) query.set('header', header.toString());
  const path = [cluster, 'topics', topic, 'records', partition, offset].map(encodeURIComponent).join('/');
  return `${base}/api/v1/clusters/${path}/bytes?${query}`;
}

/** The exact bytes of a part. */
export async function readBytes(part: Part): Promise<Uint8Array> {
  try {
    const response = await fetch(bytesURL(part));
    if (!response.ok) throw problemOf(response.status, await response.json().catch(() => ''));
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw toProblem(error);
  }
}
