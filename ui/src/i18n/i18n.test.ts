import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import en from './en.json';
import ru from './ru.json';

type Tree = { [key: string]: string | Tree };

function flatten(tree: Tree, path = ''): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    const name = path === '' ? key : `${path}.${key}`;
    if (typeof value === 'string') flat.set(name, value);
    else for (const [inner, text] of flatten(value, name)) flat.set(inner, text);
  }
  return flat;
}

const english = flatten(en);
const russian = flatten(ru);
const forms = /_(one|few|many|other)$/;
const holes = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

describe('both languages are complete', () => {
  it('with the same texts', () => {
    const stems = (texts: Map<string, string>) =>
      [...new Set([...texts.keys()].map((key) => key.replace(forms, '')))].sort();
    expect(stems(russian)).toEqual(stems(english));
  });
  it('with every plural form', () => {
    for (const key of english.keys()) {
      if (!key.endsWith('_other')) continue;
      const stem = key.replace(forms, '');
      expect(english.has(`${stem}_one`), `${stem} en one`).toBe(true);
      for (const form of ['one', 'few', 'many', 'other']) {
        expect(russian.has(`${stem}_${form}`), `${stem} ru ${form}`).toBe(true);
      }
    }
  });
  it('with the same values in them, and no text empty', () => {
    for (const [key, text] of russian) {
      const original = english.get(key) ?? english.get(key.replace(forms, '_other'));
      expect(text.trim(), key).not.toBe('');
      expect(original?.trim(), key).toBeTruthy();
      expect(holes(text), key).toEqual(holes(original ?? ''));
    }
  });
});

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|tsx|css)$/.test(file) && !/\.test\.|schema\.d\.ts/.test(file))
  .map((file) => [file, readFileSync(`src/${file}`, 'utf8')] as const);

describe('the sources', () => {
  it('hold no text for people', () => {
    // Words between tags, and words in attributes that people read.
    for (const [file, source] of sources.filter(([name]) => name.endsWith('.tsx'))) {
      const words = [...source.matchAll(/>\s*([A-Za-zА-Яа-я][^<>{}]*[a-zа-я])\s*<\//g)].map(
        (match) => match[1],
      );
      const attributes = [
        ...source.matchAll(/(?:title|label|placeholder|aria-label|alt)="([^"]*[a-zа-я]{2}[^"]*)"/g),
      ].map((match) => match[1]);
      const allowed = new Set([
        'null',
        'UTC',
        'Ctrl K',
        'kafka-1.example.com:9092, kafka-2.example.com:9092',
      ]);
      expect(
        [...words, ...attributes].filter((text) => !allowed.has(text ?? '')),
        file,
      ).toEqual([]);
    }
  });
  it('hold no colour and no size outside the tokens', () => {
    for (const [file, source] of sources) {
      if (file === 'tokens.css') continue;
      const bare = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      const found = [
        ...bare.matchAll(
          /#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b(?![\w-])|\brgba?\(|\b\d+(?:\.\d+)?(?:px|rem|em)\b/g,
        ),
      ].map((match) => match[0]);
      expect(found, file).toEqual([]);
    }
  });
  it('use every text, and every text is used', () => {
    const all = sources.map(([, source]) => source).join('\n');
    const unused = [...english.keys()].filter((key) => {
      const stem = key.replace(forms, '');
      const family = stem.slice(0, stem.lastIndexOf('.'));
      const kin = family.slice(0, family.lastIndexOf('.'));
      return (
        !all.includes(`'${stem}'`) &&
        !all.includes(`\`${family}.\${`) &&
        !all.includes(`en.${family}`) &&
        !all.includes(`\`${kin}.\${`)
      );
    });
    expect(unused).toEqual([]);
  });
});
