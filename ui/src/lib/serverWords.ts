import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import russian from '../i18n/server.ru.json';

// The server speaks English. Its sentences are known here with their translation; {{holes}} take what varies.

interface Sentence {
  pattern: RegExp;
  holes: string[];
  translation: string;
  /** Letters that are fixed: of two that match, the one with more says it better. */
  fixed: number;
}

function compile(table: Record<string, string>): Sentence[] {
  return Object.entries(table)
    .map(([text, translation]) => {
      const holes = [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '');
      const parts = text.split(/\{\{\w+\}\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      return {
        pattern: new RegExp(`^${parts.join('(.+?)')}$`, 's'),
        holes,
        translation,
        fixed: parts.join('').length,
      };
    })
    .sort((a, b) => b.fixed - a.fixed);
}

const tables: Record<string, Sentence[]> = { ru: compile(russian) };

/** The server's sentence in the language; as it is when nobody translated it. Holes are translated, too. */
export function translateServer(text: string, language: string): string {
  const table = tables[language];
  if (!table || text === '') return text;
  for (const { pattern, holes, translation } of table) {
    const match = pattern.exec(text);
    if (!match) continue;
    return translation.replace(/\{\{(\w+)\}\}/g, (_, hole: string) => {
      const value = match[holes.indexOf(hole) + 1] ?? '';
      return value === text ? value : translateServer(value, language);
    });
  }
  return text;
}

/** Translates what the server says into the chosen language. */
export function useServerWords(): (text: string) => string {
  const { i18n } = useTranslation();
  const { language } = i18n;
  return useCallback((text: string) => translateServer(text, language), [language]);
}
