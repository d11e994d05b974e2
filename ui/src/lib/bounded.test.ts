import { expect, it } from 'vitest';
import { BoundedList } from './bounded';

it('keeps the newest and counts the rest', () => {
  const list = new BoundedList<number>(10, 3);
  let next = 0;
  for (let round = 0; round < 100; round++) {
    const burst = Array.from({ length: round % 7 }, () => next++);
    list.push(burst);
    const view = list.view();
    expect(view.length).toBe(Math.min(next, 10));
    expect(view.length === 0 || view[view.length - 1] === next - 1).toBe(true);
    expect(list.dropped + view.length).toBe(next);
  }
});

it('takes a burst larger than itself', () => {
  const list = new BoundedList<number>(5);
  list.push(Array.from({ length: 1000 }, (_, index) => index));
  expect(list.view()).toEqual([995, 996, 997, 998, 999]);
  expect(list.dropped).toBe(995);
});
