import { describe, expect, it } from 'vitest';
import {
  formatMessageQuery,
  formatPartitions,
  formatRecord,
  formatSort,
  type MessageQuery,
  parseMessageQuery,
  parsePartitions,
  parseRecord,
  parseSearch,
  parseSort,
  stringifySearch,
} from './search';

describe('the address holds the state', () => {
  it('as flat text that reads back', () => {
    const search = { q: 'a b&c=d', from: 'offset:12', record: '3@4182725596', n: '' };
    const text = stringifySearch(search);
    expect(text).toBe('?q=a+b%26c%3Dd&from=offset:12&record=3@4182725596');
    expect(parseSearch(text)).toEqual({ q: 'a b&c=d', from: 'offset:12', record: '3@4182725596' });
    expect(stringifySearch({ q: '', n: undefined })).toBe('');
  });
  it('for message queries, defaults left out', () => {
    const queries: MessageQuery[] = [
      { range: { kind: 'newest' }, limit: 100, partitions: null },
      { range: { kind: 'oldest' }, limit: 500, partitions: [0, 2, 3, 4] },
      { range: { kind: 'offset', offset: '9223372036854775807' }, limit: 50, partitions: [7] },
      { range: { kind: 'time', time: '-1' }, limit: 100, partitions: null },
      { range: { kind: 'live' }, limit: 100, partitions: null },
    ];
    for (const query of queries) {
      expect(parseMessageQuery(parseSearch(stringifySearch(formatMessageQuery(query))))).toEqual(query);
    }
    expect(stringifySearch(formatMessageQuery(queries[0] as MessageQuery))).toBe('');
    expect(stringifySearch(formatMessageQuery(queries[1] as MessageQuery))).toBe(
      '?from=oldest&n=500&partitions=0,2-4',
    );
  });
  it('whatever someone wrote into it', () => {
    const query = parseMessageQuery({ from: 'offset:abc', n: '-5', partitions: '4-1' });
    expect(query).toEqual({ range: { kind: 'newest' }, limit: 100, partitions: null });
    expect(parseMessageQuery({ n: '1e9' }).limit).toBe(100);
  });
});

it('writes partitions as ranges and reads them back', () => {
  expect(parsePartitions('3, 0-1,1')).toEqual([0, 1, 3]);
  expect(formatPartitions([0, 1, 3])).toBe('0-1,3');
  expect(parsePartitions('a')).toBeNull();
  expect(parsePartitions('0-9999999')).toBeNull();
});

it('names a record by partition and offset', () => {
  expect(parseRecord('3@4182725596')).toEqual({ partition: 3, offset: '4182725596' });
  expect(formatRecord({ partition: 0, offset: '9223372036854775807' })).toBe('0@9223372036854775807');
  expect(parseRecord('x@1')).toBeNull();
  expect(parseRecord(undefined)).toBeNull();
});

it('writes a sort only when it is not the first one', () => {
  const first = { column: 'name', descending: false };
  expect(formatSort(first, first)).toBeUndefined();
  expect(formatSort({ column: 'records', descending: true }, first)).toBe('-records');
  expect(parseSort('-records', first)).toEqual({ column: 'records', descending: true });
  expect(parseSort(undefined, first)).toBe(first);
});
