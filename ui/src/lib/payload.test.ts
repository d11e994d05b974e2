import { expect, it } from 'vitest';
import { payloadBytes } from './payload';

it('tells null, empty and the word null apart', () => {
  expect(payloadBytes({ kind: 'null' })).toBeNull();
  expect(payloadBytes({ kind: 'text', data: '' })).toEqual(new Uint8Array());
  expect(payloadBytes({ kind: 'text', data: 'null' })).toHaveLength(4);
});

it('refuses text that is not of its kind', () => {
  expect(payloadBytes({ kind: 'json', data: '{' })).toBe('json');
  expect(payloadBytes({ kind: 'hex', data: '0' })).toBe('hex');
  expect(payloadBytes({ kind: 'base64', data: '*' })).toBe('base64');
  expect(payloadBytes({ kind: 'hex', data: '00ff' })).toEqual(Uint8Array.of(0, 255));
});
