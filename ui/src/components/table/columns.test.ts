import { expect, it } from 'vitest';
import { type Column, fitColumns } from './columns';

const text = () => '';
const columns: Column<unknown>[] = [
  { id: 'time', title: '', chars: 10, text },
  { id: 'partition', title: '', chars: 5, text, yields: 3 },
  { id: 'key', title: '', chars: 20, minChars: 8, text },
  { id: 'value', title: '', chars: 40, minChars: 20, grow: true, text },
  { id: 'headers', title: '', chars: 5, text, yields: 2 },
  { id: 'size', title: '', chars: 5, text, yields: 1 },
];
const layOut = (room: number, chosen = {}) =>
  fitColumns(columns, chosen, room, { char: 10, padding: 0, edge: 0 });

it('shows all while there is room', () => {
  expect(layOut(650).yielded).toEqual([]);
});

it('lets columns go in their stated order, then narrows the key', () => {
  expect(layOut(649).yielded).toEqual(['size']);
  expect(layOut(599).yielded).toEqual(['headers', 'size']);
  expect(layOut(549).yielded).toEqual(['partition', 'headers', 'size']);
  expect(layOut(549).widths.key).toBe(200);
  expect(layOut(499).widths.key).toBe(199);
  expect(layOut(200).widths.key).toBe(80);
  expect(layOut(100).shown).toEqual(['time', 'key', 'value']);
});

it('respects a width that someone chose, and adds the page edge at both ends', () => {
  expect(layOut(1000, { time: 333 }).widths.time).toBe(333);
  const { widths } = fitColumns(columns, {}, 1000, { char: 10, padding: 4, edge: 7 });
  expect([widths.time, widths.partition, widths.size]).toEqual([111, 54, 61]);
});
