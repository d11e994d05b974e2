import type { MessageQuery } from '../lib/search';
import { readEvents } from '../lib/sse';
import { base, problemOf, toProblem } from './client';
import type { Done, Progress, RecordRow, ScanProblem } from './types';

export interface ScanSink {
  progress(progress: Progress): void;
  messages(rows: RecordRow[]): void;
  problem(problem: ScanProblem): void;
  done(done: Done): void;
}

export interface ScanTarget {
  cluster: string;
  topic: string;
  query: MessageQuery;
  /** Where an earlier scan stopped. */
  cursor?: string;
}

/** The stream's address with the query in the API's words. */
export function scanURL({ cluster, topic, query, cursor }: ScanTarget): string {
  const { range } = query;
  const params = new URLSearchParams({
    range: range.kind,
    limit: query.limit.toString(),
    previewBytes: '400',
  });
  if (query.partitions) params.set('partition', query.partitions.join(','));
  if (range.kind === 'offset') params.set('offset', range.offset);
  if (range.kind === 'time') params.set('timestamp', range.time);
  if (cursor) params.set('cursor', cursor);
  return `${base}/api/v1/clusters/${encodeURIComponent(cluster)}/topics/${encodeURIComponent(topic)}/messages?${params}`;
}

/** Runs a scan until its done event, its failure (thrown as a Problem) or the abort of the signal. */
export async function scan(target: ScanTarget, sink: ScanSink, signal: AbortSignal): Promise<void> {
  let finished = false;
  try {
    const response = await fetch(scanURL(target), { signal, headers: { Accept: 'text/event-stream' } });
    if (!response.ok || !response.body) {
      const text = await response.text();
      throw problemOf(response.status, parse(text) ?? text);
    }
    for await (const { event, data } of readEvents(response.body)) {
      if (signal.aborted) return;
      // 64-bit integers are strings in this JSON, so parsing loses nothing.
      const body = JSON.parse(data);
      if (event === 'messages') sink.messages(body.records);
      else if (event === 'progress') sink.progress(body);
      else if (event === 'problem') sink.problem(body);
      else if (event === 'done') {
        finished = true;
        sink.done(body);
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    throw toProblem(error);
  }
  if (!finished && !signal.aborted) {
    throw problemOf(0, { code: 'STREAM_BROKEN', title: 'The stream ended early.', retriable: true });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
