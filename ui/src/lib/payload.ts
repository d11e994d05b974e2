import type { Payload } from '../api/types';
import { fromBase64, fromHex } from './bytes';
import { tokenize } from './json';

export const payloadKinds = ['text', 'json', 'hex', 'base64', 'null'] as const;
export type PayloadKind = (typeof payloadKinds)[number];
export type PayloadFault = 'json' | 'hex' | 'base64';

/** The bytes a payload stands for; null for the null payload, a fault when its text is not of its kind. */
export function payloadBytes(payload: Payload): Uint8Array | null | PayloadFault {
  const data = payload.data ?? '';
  switch (payload.kind) {
    case 'null':
      return null;
    case 'hex':
      return fromHex(data) ?? 'hex';
    case 'base64':
      try {
        return fromBase64(data.replace(/\s/g, ''));
      } catch {
        return 'base64';
      }
    case 'json':
      return tokenize(data) === null ? 'json' : new TextEncoder().encode(data);
    default:
      return new TextEncoder().encode(data);
  }
}
