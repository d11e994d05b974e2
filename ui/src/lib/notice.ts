import { useSyncExternalStore } from 'react';

// One short line at the foot of the page, for what happened just now.

let current = '';
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function set(text: string): void {
  current = text;
  for (const listener of listeners) listener();
}

const shownFor = 4000; // ms

export function say(text: string): void {
  clearTimeout(timer);
  set(text);
  timer = setTimeout(() => set(''), shownFor);
}

export function useNotice(): string {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
