// The query part of an address: flat strings, readable and stable, so that a copied link shows the same view.

export type Search = Record<string, string>;

/** ?a=1&b=x as a record; of a repeated name the last counts. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

/** The record as ?a=1&b=x, empty and undefined values left out; commas and colons stay readable. */
export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  }
  const text = params.toString().replace(/%2C/g, ',').replace(/%3A/g, ':').replace(/%40/g, '@');
  return text === '' ? '' : `?${text}`;
}

export interface SortState {
  column: string;
  descending: boolean;
}

/** sort=name or sort=-name. */
export function parseSort(text: string | undefined, fallback: SortState): SortState {
  if (!text) return fallback;
  return text.startsWith('-')
    ? { column: text.slice(1), descending: true }
    : { column: text, descending: false };
}

export function formatSort(sort: SortState, fallback: SortState): string | undefined {
  if (sort.column === fallback.column && sort.descending === fallback.descending) return undefined;
  return sort.descending ? `-${sort.column}` : sort.column;
}

/** Where a read of messages begins and which way it goes. */
export type Range =
  | { kind: 'newest' }
  | { kind: 'oldest' }
  | { kind: 'offset'; offset: string }
  | { kind: 'time'; time: string }
  | { kind: 'live' };

export interface MessageQuery {
  range: Range;
  /** How many records; not used by live. */
  limit: number;
  /** Chosen partitions in ascending order; null for all. */
  partitions: number[] | null;
}

export const limits = [50, 100, 500, 1000, 5000] as const;
export const defaultLimit = 100;

/** ?from=newest|oldest|live|offset:N|time:MS &n=LIMIT &partitions=0,2-4 */
export function parseMessageQuery(search: Search): MessageQuery {
  const limit = Number(search.n);
  return {
    range: parseRange(search.from),
    limit: Number.isInteger(limit) && limit > 0 && limit <= 10_000 ? limit : defaultLimit,
    partitions: parsePartitions(search.partitions),
  };
}

export function formatMessageQuery(query: MessageQuery): Search {
  const { range } = query;
  const from =
    range.kind === 'offset'
      ? `offset:${range.offset}`
      : range.kind === 'time'
        ? `time:${range.time}`
        : range.kind;
  return {
    from: from === 'newest' ? '' : from,
    n: query.limit === defaultLimit ? '' : query.limit.toString(),
    partitions: query.partitions === null ? '' : formatPartitions(query.partitions),
  };
}

function parseRange(text: string | undefined): Range {
  const match = /^(offset|time):(-?\d+)$/.exec(text ?? '');
  if (match?.[1] === 'offset') return { kind: 'offset', offset: match[2] as string };
  if (match?.[1] === 'time') return { kind: 'time', time: match[2] as string };
  return text === 'oldest' || text === 'live' ? { kind: text } : { kind: 'newest' };
}

/** "0,2-4" as [0, 2, 3, 4]; null for empty or wrong text, which means all. */
export function parsePartitions(text: string | undefined): number[] | null {
  if (!text) return null;
  const chosen = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^\s*(\d{1,7})(?:-(\d{1,7}))?\s*$/.exec(part);
    if (!match) return null;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last < first || last - first > 100_000) return null;
    for (let i = first; i <= last; i++) chosen.add(i);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** [0, 2, 3, 4] as "0,2-4". */
export function formatPartitions(partitions: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < partitions.length; ) {
    let end = i;
    while (end + 1 < partitions.length && partitions[end + 1] === (partitions[end] as number) + 1) end++;
    parts.push(end === i ? `${partitions[i]}` : `${partitions[i]}-${partitions[end]}`);
    i = end + 1;
  }
  return parts.join(',');
}

/** The open record: partition@offset. */
export interface RecordPosition {
  partition: number;
  offset: string;
}

export function parseRecord(text: string | undefined): RecordPosition | null {
  const match = /^(\d{1,10})@(\d{1,19})$/.exec(text ?? '');
  return match ? { partition: Number(match[1]), offset: match[2] as string } : null;
}

export function formatRecord(position: RecordPosition): string {
  return `${position.partition}@${position.offset}`;
}
