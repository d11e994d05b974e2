import { expect, it } from 'vitest';
import { topicNameFault, topicNameTwin } from './topicName';

it.each([
  ['', 'empty'],
  ['.', 'dots'],
  ['..', 'dots'],
  ['a'.repeat(250), 'long'],
  ['a b', 'chars'],
  ['Привет', 'chars'],
  ['a'.repeat(249), null],
  ['orders.events_v3-x', null],
])('%s', (name, fault) => {
  expect(topicNameFault(name)).toBe(fault);
});

it('finds a name that differs in dots and underscores only', () => {
  expect(topicNameTwin('a.b', ['x', 'a_b'])).toBe('a_b');
  expect(topicNameTwin('a.b', ['a.b'])).toBeUndefined();
});
