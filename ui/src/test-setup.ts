import { readFileSync } from 'node:fs';
import { cleanup } from '@testing-library/react';
import { afterEach } from 'vitest';

// The sizes that code computes with, from the file that holds them.
const tokens = readFileSync('src/tokens.css', 'utf8');
for (const match of tokens.matchAll(/^\s*(--k-[\w-]+):\s*(\d[\d.]*px);/gm)) {
  document.documentElement.style.setProperty(match[1] ?? '', match[2] ?? '');
}

afterEach(cleanup);
