import { useCallback, useSyncExternalStore } from 'react';

// What a person chose, kept in this browser. Storage may be off or full: then the choice lasts for this page.

const listeners = new Set<() => void>();
const memory = new Map<string, string>();

export function readPref(name: string): string | null {
  const kept = memory.get(name);
  if (kept !== undefined) return kept;
  try {
    return localStorage.getItem(`klamm.${name}`);
  } catch {
    return null;
  }
}

export function writePref(name: string, value: string): void {
  memory.set(name, value);
  try {
    localStorage.setItem(`klamm.${name}`, value);
  } catch {
    // kept in memory
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A kept choice and how to change it; every user of the same name sees the change. */
export function usePref(name: string, fallback: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => readPref(name) ?? fallback);
  return [value, useCallback((next: string) => writePref(name, next), [name])];
}
