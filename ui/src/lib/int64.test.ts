import { describe, expect, it } from 'vitest';
import { add, compareIntegers, groupDigits, subtract, sum } from './int64';

describe('64-bit integers', () => {
  it('keep every digit that a Number would lose', () => {
    expect(groupDigits('23958446825181076828', 'en')).toBe('23,958,446,825,181,076,828');
    expect(groupDigits('-7210194211959421178', 'en')).toBe('-7,210,194,211,959,421,178');
    expect(groupDigits('9223372036854775807', 'ru').replace(/\s/g, ' ')).toBe('9 223 372 036 854 775 807');
  });
  it('leave what is no integer as it is', () => {
    expect(groupDigits('1.10', 'en')).toBe('1.10');
    expect(groupDigits('', 'en')).toBe('');
  });
  it('compare by value, not by text, unknown first', () => {
    const values = ['10', '9', undefined, '9007199254740993', '9007199254740992'];
    expect([...values].sort(compareIntegers)).toEqual([
      '9',
      '10',
      '9007199254740992',
      '9007199254740993',
      undefined,
    ]);
    expect(compareIntegers(undefined, '1')).toBeLessThan(0);
    expect(compareIntegers('1', undefined)).toBeGreaterThan(0);
    expect(compareIntegers(undefined, undefined)).toBe(0);
  });
  it('add and subtract exactly', () => {
    expect(subtract('9223372036854775807', '1')).toBe('9223372036854775806');
    expect(add('9007199254740993', '1')).toBe('9007199254740994');
    expect(sum(['9007199254740993', undefined, '1'])).toBe('9007199254740994');
  });
});
