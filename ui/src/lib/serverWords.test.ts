import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import russian from '../i18n/server.ru.json';
import { translateServer } from './serverWords';

it('translates sentences with what varies in them', () => {
  expect(translateServer('Nothing listens at 127.0.0.1:1: connection refused.', 'ru')).toBe(
    'По адресу 127.0.0.1:1 никто не слушает: в соединении отказано.',
  );
  expect(translateServer('broker 3 advertises b3:9092: The name b3 cannot be resolved.', 'ru')).toBe(
    'брокер 3 объявляет b3:9092: Имя b3 не находится.',
  );
  expect(translateServer('byte 7: this is no number', 'ru')).toBe('байт 7: это не число');
});

it('leaves English and unknown sentences alone', () => {
  expect(translateServer('The partition has no leader.', 'en')).toBe('The partition has no leader.');
  expect(translateServer('Something nobody foresaw.', 'ru')).toBe('Something nobody foresaw.');
  expect(translateServer('', 'ru')).toBe('');
});

it('knows only sentences that the server says', () => {
  const folders = ['../internal/explorer', '../internal/explorer/serde', '../internal/httpapi'];
  const source = folders
    .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.go') && !file.endsWith('_test.go'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const gone = Object.keys(russian).filter((text) => {
    const pieces = text.split(/\{\{\w+\}\}/).map((piece) => piece.trim());
    const longest = pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), '');
    return !source.includes(longest);
  });
  expect(gone).toEqual([]);
});
