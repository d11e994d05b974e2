import { useCallback, useEffect, useRef, useState } from 'react';
import { toProblem } from '../api/client';
import { scan } from '../api/scan';
import type { Done, ProblemBody, Progress, RecordRow, ScanProblem } from '../api/types';
import { BoundedList } from './bounded';
import { compareIntegers } from './int64';
import type { MessageQuery } from './search';

/** What the message table shows of a scan. */
export interface ScanView {
  rows: RecordRow[];
  progress: Progress | null;
  problems: ScanProblem[];
  done: Done | null;
  error: ProblemBody | null;
  running: boolean;
  /** Live: the view stands still, records go on arriving. */
  paused: boolean;
  /** Live: arrived since the pause began. */
  waiting: number;
  /** Live: no longer in view, because the view is bounded. */
  dropped: number;
  /** Where it can go on from; null when nothing is left. */
  cursor: string | null;
}

const nothing: ScanView = {
  rows: [],
  progress: null,
  problems: [],
  done: null,
  error: null,
  running: false,
  paused: false,
  waiting: 0,
  dropped: 0,
  cursor: null,
};

const liveRows = 5000;
const flushEvery = 100; // ms: at most ten updates a second
const problemsAtMost = 200;

export interface Scan {
  view: ScanView;
  stop: () => void;
  /** Reads again from the beginning of the range. */
  restart: () => void;
  /** Goes on where the scan stopped. */
  proceed: () => void;
  pause: (paused: boolean) => void;
}

/** Reads messages as a query says: starts by itself, stops when the page goes, updates in batches. */
export function useScan(cluster: string, topic: string, query: MessageQuery): Scan {
  const [view, setView] = useState(nothing);
  const [round, setRound] = useState(0);
  const run = useRef<Run | null>(null);
  const key = JSON.stringify([cluster, topic, query]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: key stands for cluster, topic and query; round starts anew
  useEffect(() => {
    const next = new Run(cluster, topic, query, setView);
    run.current = next;
    next.start();
    return () => next.close();
  }, [key, round]);

  return {
    view,
    stop: useCallback(() => run.current?.stop(), []),
    restart: useCallback(() => setRound((n) => n + 1), []),
    proceed: useCallback(() => run.current?.proceed(), []),
    pause: useCallback((paused: boolean) => run.current?.pause(paused), []),
  };
}

/** One scan, with its continuations. */
class Run {
  private readonly live: BoundedList<RecordRow> | null;
  private fixed: RecordRow[] = [];
  private view: ScanView = nothing;
  private shown = 0; // live: how many had arrived when the view was last drawn
  private arrived = 0;
  private readonly last = new Map<number, string>(); // live: offset by partition
  private timer: ReturnType<typeof setTimeout> | null = null;
  private abort: AbortController | null = null;
  private closed = false;

  constructor(
    private readonly cluster: string,
    private readonly topic: string,
    private readonly query: MessageQuery,
    private readonly draw: (view: ScanView) => void,
  ) {
    this.live = query.range.kind === 'live' ? new BoundedList(liveRows) : null;
  }

  start(cursor?: string): void {
    const abort = new AbortController();
    this.abort = abort;
    this.view = { ...this.view, running: true, done: null, error: null, problems: [] };
    this.flush();
    scan(
      { cluster: this.cluster, topic: this.topic, query: this.query, cursor },
      {
        progress: (progress) => this.change({ progress, cursor: progress.cursor ?? this.view.cursor }),
        messages: (rows) => this.add(rows),
        problem: (problem) =>
          this.change({ problems: [...this.view.problems, problem].slice(-problemsAtMost) }),
        done: (done) =>
          this.change({ done, progress: done.progress, running: false, cursor: done.cursor ?? null }),
      },
      abort.signal,
    ).catch((error: unknown) => this.change({ error: toProblem(error).body, running: false }));
  }

  stop(): void {
    this.abort?.abort();
    this.change({ running: false });
  }

  proceed(): void {
    const { cursor } = this.view;
    if (cursor) this.start(cursor);
  }

  pause(paused: boolean): void {
    this.view = { ...this.view, paused };
    this.flush();
  }

  close(): void {
    this.closed = true;
    this.abort?.abort();
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private add(rows: RecordRow[]): void {
    if (this.live) {
      const fresh = rows.filter((row) => this.isNew(row));
      this.arrived += fresh.length;
      this.live.push(fresh);
    } else {
      this.arrived += rows.length;
      this.fixed = this.fixed.concat(rows);
    }
    this.change({});
  }

  /** Live rows of a partition come in order; one that was there before the stream broke comes again. */
  private isNew(row: RecordRow): boolean {
    const last = this.last.get(row.partition);
    if (last !== undefined && compareIntegers(row.offset, last) <= 0) return false;
    this.last.set(row.partition, row.offset);
    return true;
  }

  private change(patch: Partial<ScanView>): void {
    if (this.closed) return;
    this.view = { ...this.view, ...patch };
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.flush();
    }, flushEvery);
  }

  private flush(): void {
    if (this.closed) return;
    if (this.live) {
      if (!this.view.paused && this.shown !== this.arrived) {
        this.shown = this.arrived;
        this.view = { ...this.view, rows: this.live.view().reverse(), dropped: this.live.dropped };
      }
      this.view = { ...this.view, waiting: this.arrived - this.shown };
    } else if (this.view.rows !== this.fixed) {
      this.view = { ...this.view, rows: this.fixed };
    }
    this.draw(this.view);
  }
}
