import { useEffect, useRef } from 'react';

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** True when the focused part has its own use for the key: a button for Enter, a tab for the arrows. */
function takes(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (key === 'Enter') return target.closest('button, a, summary') !== null;
  return key.startsWith('Arrow') && target.closest('[role="tab"], [role="separator"], hr') !== null;
}

/** True while a dialog or a menu is open: the page below must not react to keys. */
function covered(): boolean {
  const covers = document.querySelectorAll(
    '[role="dialog"][aria-modal="true"], [role="menu"], [role="listbox"]',
  );
  return [...covers].some((cover) => cover.checkVisibility()); // a closed list may stay in the page
}

/** The name of a key press: "mod+k" for Ctrl or Cmd, else the key itself. */
export function keyName(event: KeyboardEvent): string {
  if (event.altKey) return '';
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}

// On a Cyrillic layout the same physical keys carry other letters.
const physical: Record<string, string> = {
  KeyJ: 'j',
  KeyK: 'k',
  KeyC: 'c',
  KeyS: 's',
  KeyR: 'r',
  KeyL: 'l',
  KeyP: 'p',
};

/** Calls the handler of a key pressed anywhere on the page, unless someone is typing or a dialog is open. */
export function useKeys(keys: KeyMap, enabled = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!enabled) return;
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const name = keyName(event);
      const latin = /[\u0400-\u04ff]/.test(event.key) ? physical[event.code] : undefined;
      const handler =
        current.current[name] ??
        (latin !== undefined
          ? current.current[event.ctrlKey || event.metaKey ? `mod+${latin}` : latin]
          : undefined);
      if (!handler) return;
      if (!name.startsWith('mod+') && (typing(event.target) || takes(event.target, event.key) || covered()))
        return;
      event.preventDefault();
      handler(event);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, [enabled]);
}
