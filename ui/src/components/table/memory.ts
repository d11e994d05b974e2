import { useMemo } from 'react';
import { usePref } from '../../lib/prefs';
import type { Column } from './columns';

/** What a person made of a table, kept per table. */
export interface TableMemory {
  /** Width by column id, pixels. */
  widths: Record<string, number>;
  /** Null until someone chose. */
  hidden: string[] | null;
  order: string[];
}

function parseMemory(text: string): TableMemory {
  try {
    const raw: unknown = JSON.parse(text);
    const kept = (typeof raw === 'object' && raw !== null ? raw : {}) as Partial<TableMemory>;
    return { widths: kept.widths ?? {}, hidden: kept.hidden ?? null, order: kept.order ?? [] };
  } catch {
    return { widths: {}, hidden: null, order: [] };
  }
}

/** Ids of the columns that are not shown. */
export function hiddenColumns<T>(memory: TableMemory, columns: readonly Column<T>[]): string[] {
  return memory.hidden ?? columns.filter((column) => column.optional).map((column) => column.id);
}

export function useTableMemory(
  table: string,
): [TableMemory, (change: Partial<TableMemory>) => void, () => void] {
  const [text, setText] = usePref(`table.${table}`, '{}');
  const memory = useMemo(() => parseMemory(text), [text]);
  return [memory, (change) => setText(JSON.stringify({ ...memory, ...change })), () => setText('{}')];
}
