import {
  columnOrderingFeature,
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from '../../lib/clipboard';
import { useKeys } from '../../lib/keys';
import type { SortState } from '../../lib/search';
import { tokenPixels } from '../../lib/tokens';
import { useRoom } from '../../lib/useRoom';
import { CellMenu, type CellMenuPlace } from './CellMenu';
import { type Column, fitColumns } from './columns';
import css from './DataTable.module.css';
import { HeadCell } from './HeadCell';
import { hiddenColumns, useTableMemory } from './memory';

const features = tableFeatures({
  columnOrderingFeature,
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});

interface DataTableProps<T extends object> {
  /** Names its memory of widths, order and hidden columns. */
  id: string;
  /** What the rows are, for a screen reader. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  sort?: SortState;
  onSort?: (sort: SortState) => void;
  /** The row that is marked; without it the table keeps its own. */
  active?: string | null;
  onActive?: (row: T) => void;
  /** Enter or double click. */
  onOpen?: (row: T) => void;
  /** A single click opens, too. */
  openOnClick?: boolean;
  /** Rows arrive at the top: what is in view stays where it is. */
  anchored?: boolean;
  /** Shown below the heading when there is no row. */
  empty?: ReactNode;
  /** Reacts to keys pressed anywhere on the page; one table a page. */
  main?: boolean;
  rowTone?: (row: T) => 'warn' | 'bad' | undefined;
}

/** A table of any length: virtual rows, keys, sorting, columns that are sized, ordered, hidden and remembered. */
export function DataTable<T extends object>(props: DataTableProps<T>) {
  const { id, label, columns, rows, rowKey, sort, onSort, onOpen, main = true, empty, rowTone } = props;
  const { t } = useTranslation();
  const [memory, remember] = useTableMemory(id);
  const scroller = useRef<HTMLDivElement>(null);
  const room = useRoom(scroller);
  const rowHeight = tokenPixels('--k-row');
  const base = useId();

  const table = useTable({
    features,
    data: rows as T[],
    columns: useMemo(
      () =>
        columns.map((column) => ({
          id: column.id,
          accessorFn: (row: T) => column.text(row),
          header: column.title,
          enableSorting: column.compare !== undefined,
          ...(column.compare
            ? {
                sortFn: (a: { original: T }, b: { original: T }) =>
                  column.compare?.(a.original, b.original) ?? 0,
              }
            : {}),
        })),
      [columns],
    ),
    getRowId: rowKey,
    enableSortingRemoval: false,
    state: {
      sorting: useMemo(() => (sort ? [{ id: sort.column, desc: sort.descending }] : []), [sort]),
      columnOrder: memory.order,
      columnVisibility: useMemo(
        () => Object.fromEntries(hiddenColumns(memory, columns).map((hidden) => [hidden, false])),
        [memory, columns],
      ),
    },
  });

  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const visible = table
    .getVisibleLeafColumns()
    .map((column) => byId.get(column.id))
    .filter((column) => column !== undefined);
  const padding = tokenPixels('--k-2') * 2;
  const edge = tokenPixels('--k-4') - tokenPixels('--k-2'); // more at both ends, in line with the page
  const layout = fitColumns(visible, memory.widths, room, { char: tokenPixels('--k-char'), padding, edge });
  const shown = layout.shown.map((columnId) => byId.get(columnId)).filter((column) => column !== undefined);
  const template = shown
    .map((column) =>
      column.grow ? `minmax(${layout.widths[column.id]}px, 1fr)` : `${layout.widths[column.id]}px`,
    )
    .join(' ');

  const models = table.getRowModel().rows;
  const [ownActive, setOwnActive] = useState<string | null>(null);
  const active = props.active !== undefined ? props.active : ownActive;
  const activeIndex = active === null ? -1 : models.findIndex((model) => model.id === active);
  const virtual = useVirtualizer({
    count: models.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => models[index]?.id ?? index,
    overscan: 10,
    scrollMargin: rowHeight,
    scrollPaddingStart: rowHeight,
  });

  useAnchor(scroller, models, rowHeight, props.anchored ?? false);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(models.length - 1, to));
    const model = models[index];
    if (!model) return;
    setOwnActive(model.id);
    props.onActive?.(model.original);
    virtual.scrollToIndex(index, { align: 'auto' });
  };
  const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
  const open = () => {
    const model = models[activeIndex];
    if (model) onOpen?.(model.original);
  };
  const copy = () => {
    const model = models[activeIndex];
    if (model) copyText(shown.map((column) => column.text(model.original)).join('\t'), t('keys.copiedRow'));
  };
  useKeys(
    {
      j: () => move(activeIndex + 1),
      k: () => move(activeIndex - 1),
      ArrowDown: () => move(activeIndex + 1),
      ArrowUp: () => move(activeIndex - 1),
      PageDown: () => move(activeIndex + page),
      PageUp: () => move(activeIndex - page),
      Home: () => move(0),
      End: () => move(models.length - 1),
    },
    main,
  );
  const keyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.key !== 'Enter') return;
    event.preventDefault();
    open();
  };
  useKeys({ Enter: open, ...(props.onActive ? {} : { c: copy }) }, main && activeIndex >= 0);

  const latest = useLatest(props);
  const click = useCallback(
    (row: T) => {
      setOwnActive(latest.current.rowKey(row));
      latest.current.onActive?.(row);
      if (latest.current.openOnClick) latest.current.onOpen?.(row);
    },
    [latest],
  );
  const doubleClick = useCallback((row: T) => latest.current.onOpen?.(row), [latest]);

  const [menu, setMenu] = useState<CellMenuPlace<T> | null>(null);
  const hiddenTitles = layout.yielded.map((columnId) => byId.get(columnId)?.title ?? columnId);

  return (
    <div className={css.frame}>
      <div
        ref={scroller}
        className={css.table}
        role="grid"
        aria-label={label}
        aria-rowcount={models.length + 1}
        aria-colcount={shown.length}
        aria-activedescendant={activeIndex >= 0 ? `${base}${activeIndex}` : undefined}
        tabIndex={0}
        onKeyDown={keyDown}
        style={{ '--columns': template, '--least': `${layout.total}px` } as React.CSSProperties}
      >
        <div role="rowgroup" className={css.head}>
          <div role="row" aria-rowindex={1} className={css.headRow}>
            {shown.map((column, index) => (
              <HeadCell
                key={column.id}
                column={column}
                sort={sort?.column === column.id ? (sort.descending ? 'descending' : 'ascending') : undefined}
                onSort={onSort && column.compare ? () => onSort(nextSort(column.id, sort)) : undefined}
                width={layout.widths[column.id] ?? 0}
                onResize={(width) => remember({ widths: { ...memory.widths, [column.id]: width } })}
                onFit={() => {
                  const { [column.id]: _, ...rest } = memory.widths;
                  const chars = Math.max(
                    column.title.length + 2,
                    ...models.slice(0, 500).map((m) => column.text(m.original).length),
                  );
                  const fitted = Math.ceil(Math.min(chars, 120) * tokenPixels('--k-char') + padding);
                  remember({ widths: { ...rest, [column.id]: fitted } });
                }}
                note={
                  index === shown.length - 1 || column.grow
                    ? hiddenTitles.length > 0 && (column.grow || !shown.some((c) => c.grow))
                      ? t('table.yielded', { columns: hiddenTitles.join(', ').toLocaleLowerCase() })
                      : undefined
                    : undefined
                }
              />
            ))}
          </div>
        </div>
        <div role="rowgroup" className={css.body} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const model = models[item.index];
            if (!model) return null;
            return (
              <Row
                key={model.id}
                id={`${base}${item.index}`}
                index={item.index}
                top={item.start - rowHeight}
                row={model.original}
                columns={shown}
                active={item.index === activeIndex}
                tone={rowTone?.(model.original)}
                onClick={click}
                onDoubleClick={doubleClick}
                onMenu={setMenu}
              />
            );
          })}
        </div>
      </div>
      {models.length === 0 && empty && <div className={css.empty}>{empty}</div>}
      <CellMenu
        place={menu}
        onClose={() => setMenu(null)}
        columns={shown}
        rows={() => models.map((m) => m.original)}
      />
    </div>
  );
}

function nextSort(column: string, sort: SortState | undefined): SortState {
  return { column, descending: sort?.column === column ? !sort.descending : false };
}

/** Keeps the rows in view in place when others arrive above them. At the very top the view follows the news. */
function useAnchor(
  scroller: React.RefObject<HTMLDivElement | null>,
  models: readonly { id: string }[],
  rowHeight: number,
  enabled: boolean,
): void {
  const before = useRef<readonly { id: string }[]>([]);
  useLayoutEffect(() => {
    const element = scroller.current;
    const old = before.current;
    before.current = models;
    if (!enabled || !element || element.scrollTop < rowHeight / 2) return;
    const top = old[Math.floor(element.scrollTop / rowHeight)]?.id;
    if (top === undefined) return;
    const from = Math.floor(element.scrollTop / rowHeight);
    const to = models.findIndex((model) => model.id === top);
    if (to > from) element.scrollTop += (to - from) * rowHeight;
  }, [scroller, models, rowHeight, enabled]);
}

interface RowProps<T> {
  id: string;
  index: number;
  top: number;
  row: T;
  columns: readonly Column<T>[];
  active: boolean;
  tone: 'warn' | 'bad' | undefined;
  onClick: (row: T) => void;
  onDoubleClick: (row: T) => void;
  onMenu: (place: CellMenuPlace<T>) => void;
}

function PlainRow<T>({
  id,
  index,
  top,
  row,
  columns,
  active,
  tone,
  onClick,
  onDoubleClick,
  onMenu,
}: RowProps<T>) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the grid
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={active}
      className={css.row}
      data-tone={tone}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onClick(row)}
      onDoubleClick={() => onDoubleClick(row)}
    >
      {columns.map((column) => (
        <div
          key={column.id}
          role="gridcell"
          className={css.cell}
          data-numeric={column.numeric || undefined}
          data-mono={column.mono || undefined}
          onContextMenu={(event) => {
            if (event.shiftKey) return;
            event.preventDefault();
            onMenu({ x: event.clientX, y: event.clientY, row, column });
          }}
        >
          {column.cell ? column.cell(row) : column.text(row)}
        </div>
      ))}
    </div>
  );
}

// Handlers are the same for the life of the table, so they are not compared.
const Row = memo(PlainRow, (a, b) => {
  return (
    a.row === b.row &&
    a.top === b.top &&
    a.active === b.active &&
    a.columns.length === b.columns.length &&
    a.columns.every((column, index) => column === b.columns[index]) &&
    a.id === b.id &&
    a.tone === b.tone
  );
}) as typeof PlainRow;

/** The newest value, for handlers that never change. */
function useLatest<V>(value: V): React.RefObject<V> {
  const ref = useRef(value);
  useEffect(() => {
    ref.current = value;
  });
  return ref;
}
