import { useRouter } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { base } from '../api/client';

export interface AProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  href: string;
}

/** Follows a path of lib/paths without loading the page anew. */
export function useGo(): (href: string, options?: { replace?: boolean }) => void {
  const router = useRouter();
  return (href, options) => {
    if (options?.replace) router.history.replace(prefix() + href);
    else router.history.push(prefix() + href);
  };
}

/** The path below which all pages lie: empty unless a proxy serves them below a prefix. */
export function prefix(): string {
  return new URL(base).pathname.replace(/\/$/, '');
}

/** A link to a path of lib/paths. Modified clicks stay the browser's. */
export function A({ href, onClick, children, ...rest }: AProps) {
  const go = useGo();
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    event.preventDefault();
    go(href);
  };
  return (
    <a href={prefix() + href} onClick={click} {...rest}>
      {children}
    </a>
  );
}
