import { type RefObject, useLayoutEffect, useState } from 'react';

/** The inner width of an element in CSS pixels, kept up to date. */
export function useRoom(element: RefObject<HTMLElement | null>): number {
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    const node = element.current;
    if (!node) return;
    setRoom(node.clientWidth);
    const observer = new ResizeObserver(() => setRoom(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, [element]);
  return room;
}
