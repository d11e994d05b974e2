import type { ReactNode } from 'react';

/** One column of a table of T. */
export interface Column<T> {
  id: string;
  title: string;
  /** Said about the heading on hover. */
  hint?: string;
  /** Room in monospaced characters. */
  chars: number;
  /** What it may shrink to when room is short; `chars` when left out. */
  minChars?: number;
  /** Takes what is left over. */
  grow?: boolean;
  /** Right-aligned, monospaced. */
  numeric?: boolean;
  mono?: boolean;
  /** What is copied. */
  text: (row: T) => string;
  /** Makes the column sortable. */
  compare?: (a: T, b: T) => number;
  cell?: (row: T) => ReactNode;
  /** Cannot be hidden. */
  fixed?: boolean;
  /** Hidden until someone asks for it. */
  optional?: boolean;
  /** When room is short, the column with the lowest number goes first. Without it, it stays. */
  yields?: number;
}

export interface Layout {
  /** Ids in order, what fits. */
  shown: string[];
  /** Ids that gave way, in column order. */
  yielded: string[];
  /** Width in pixels; the growing column's is its least one. */
  widths: Record<string, number>;
  /** The sum of widths. */
  total: number;
}

export interface Measures {
  char: number;
  padding: number;
  /** Added to the first and the last column. */
  edge: number;
}

/** Which columns fit into the room, and how wide each is. Pure: same input, same layout, so nothing jumps. */
export function fitColumns<T>(
  columns: readonly Column<T>[],
  chosen: Record<string, number>,
  room: number,
  measures: Measures,
): Layout {
  const ends = new Set([columns[0]?.id, columns[columns.length - 1]?.id]);
  const width = (column: Column<T>, chars: number) =>
    chosen[column.id] ??
    Math.ceil(chars * measures.char + measures.padding + (ends.has(column.id) ? measures.edge : 0));
  const shown = new Set(columns.map((column) => column.id));
  const widths: Record<string, number> = {};
  for (const column of columns) {
    widths[column.id] = width(column, column.grow ? (column.minChars ?? column.chars) : column.chars);
  }
  const total = () => columns.reduce((sum, c) => sum + (shown.has(c.id) ? (widths[c.id] ?? 0) : 0), 0);
  const order = columns
    .filter((c) => c.yields !== undefined)
    .sort((a, b) => (a.yields ?? 0) - (b.yields ?? 0));
  for (const column of order) {
    if (total() <= room) break;
    shown.delete(column.id);
  }
  for (const column of columns) {
    const excess = total() - room;
    if (excess <= 0) break;
    if (!shown.has(column.id) || column.minChars === undefined) continue;
    const now = widths[column.id] ?? 0;
    widths[column.id] = Math.max(Math.min(now, width(column, column.minChars)), now - excess);
  }
  return {
    shown: columns.filter((c) => shown.has(c.id)).map((c) => c.id),
    yielded: columns.filter((c) => !shown.has(c.id)).map((c) => c.id),
    widths,
    total: total(),
  };
}
