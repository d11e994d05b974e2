import { useEffect, useRef, useState } from 'react';
import { useSearch } from './useSearch';

const settle = 250; // ms without a key press before the address follows

/** A text field whose text is part of the address: it answers at once, the address follows when typing pauses. */
export function useSearchText(name: string): [string, (text: string) => void] {
  const [search, setSearch] = useSearch();
  const inAddress = search[name] ?? '';
  const [text, setText] = useState(inAddress);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const written = useRef(inAddress);

  // The address changed by other hands: a link, or back and forward.
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress;
    setText(inAddress);
  }, [inAddress]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );

  const change = (next: string) => {
    setText(next);
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      written.current = next;
      setSearch({ [name]: next });
    }, settle);
  };
  return [text, change];
}
