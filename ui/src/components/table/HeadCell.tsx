import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import type { PointerEvent } from 'react';
import { tokenPixels } from '../../lib/tokens';
import type { Column } from './columns';
import css from './DataTable.module.css';

interface HeadCellProps<T> {
  column: Column<T>;
  sort: 'ascending' | 'descending' | undefined;
  onSort: (() => void) | undefined;
  width: number;
  onResize: (width: number) => void;
  onFit: () => void;
  note: string | undefined;
}

/** A column's heading: click sorts, dragging its right edge sizes, double click on the edge fits. */
export function HeadCell<T>({ column, sort, onSort, width, onResize, onFit, note }: HeadCellProps<T>) {
  const drag = (event: PointerEvent<HTMLSpanElement>) => {
    event.preventDefault();
    const edge = event.currentTarget;
    const start = event.clientX;
    const from = edge.parentElement?.offsetWidth ?? width;
    const least = tokenPixels('--k-6');
    edge.setPointerCapture(event.pointerId);
    edge.onpointermove = (move) => {
      if (Math.abs(move.clientX - start) > 2) onResize(Math.max(least, from + move.clientX - start));
    };
    edge.onpointerup = () => {
      edge.onpointermove = null;
      edge.onpointerup = null;
    };
  };
  const Icon = sort === 'descending' ? IconChevronDown : IconChevronUp;
  const title = (
    <>
      <span className={css.title}>{column.title}</span>
      {sort && <Icon className={css.sortIcon} aria-hidden="true" />}
    </>
  );
  return (
    <div
      role="columnheader"
      aria-sort={sort}
      className={css.headCell}
      data-numeric={column.numeric || undefined}
      title={column.hint}
    >
      {onSort ? (
        <button type="button" className={css.sort} onClick={onSort}>
          {title}
        </button>
      ) : (
        title
      )}
      {note && <span className={css.note}>{note}</span>}
      <span className={css.edge} aria-hidden="true" onPointerDown={drag} onDoubleClick={onFit} />
    </div>
  );
}
