import { describe, expect, it } from 'vitest';
import { prettyPrint, tokenize, tokenizePreview } from './json';

describe('JSON is laid out from its own text', () => {
  it('with every digit, double keys and odd numbers as written', () => {
    const text =
      '{"n":23958446825181076828,"d":1.10,"e":1e400,"z":-0,"a":1,"a":2,"o":{},"l":[],"k":[1,{"x":null}]}';
    expect(prettyPrint(text)).toBe(
      [
        '{',
        '  "n": 23958446825181076828,',
        '  "d": 1.10,',
        '  "e": 1e400,',
        '  "z": -0,',
        '  "a": 1,',
        '  "a": 2,',
        '  "o": {},',
        '  "l": [],',
        '  "k": [',
        '    1,',
        '    {',
        '      "x": null',
        '    }',
        '  ]',
        '}',
      ].join('\n'),
    );
  });
  it('however deep it is', () => {
    const deep = 10_000;
    expect(tokenize('['.repeat(deep) + ']'.repeat(deep))).toHaveLength(deep * 2);
  });
  it('only when it is JSON', () => {
    for (const text of [
      '',
      '{',
      '{"a"}',
      '[1,]',
      '{"a":1,}',
      '01',
      '1.',
      'NaN',
      '{"x":NaN}',
      '"\n"',
      '1 2',
      'nulls',
      "{'a':1}",
      '[1 2]',
      ']',
      '{1:2}',
      '{"a":1 "b":2}',
    ]) {
      expect(tokenize(text), text).toBeNull();
    }
  });
  it('agrees with JSON.parse about what is JSON', () => {
    const alphabet = ['{', '}', '[', ']', ':', ',', '"a"', '1', '-2.5e3', 'true', 'null', ' '];
    let seed = 7;
    for (let round = 0; round < 20_000; round++) {
      let text = '';
      for (let i = 0; i < 7; i++) {
        seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
        text += alphabet[seed % alphabet.length];
      }
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      expect(tokenize(text) !== null, text).toBe(valid);
    }
  });
});

describe('a preview that is cut off', () => {
  it('loses no character', () => {
    for (const text of [
      '{"a": 1, "b": [tru',
      '{"a":"unfinish',
      'plain words, 12',
      '{"k\\"": -1.5e9}',
      '  {"a":null}',
    ]) {
      expect(
        tokenizePreview(text)
          .map((token) => token.text)
          .join(''),
      ).toBe(text);
    }
  });
  it('tells keys, strings, numbers and words apart', () => {
    const kinds = tokenizePreview('{"a": "x", "n": -1.5, "t": true')
      .filter((token) => token.kind !== 'mark')
      .map((token) => [token.kind, token.text]);
    expect(kinds).toEqual([
      ['key', '"a"'],
      ['string', '"x"'],
      ['key', '"n"'],
      ['number', '-1.5'],
      ['key', '"t"'],
      ['word', 'true'],
    ]);
  });
});
