import { useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback } from 'react';
import { type Search, stringifySearch } from './search';

export type SetSearch = (change: Search, options?: { push?: boolean }) => void;

/** The query part of the address, and how to change some of it. An empty value takes a name out. */
export function useSearch(): [Search, SetSearch] {
  const router = useRouter();
  const search = useRouterState({ select: (state) => state.location.search as Search });
  const setSearch = useCallback<SetSearch>(
    (change, options) => {
      const { pathname } = router.history.location; // as it is in the address, still encoded
      const current = router.state.location.search as Search;
      const href = pathname + stringifySearch({ ...current, ...change });
      if (options?.push) router.history.push(href);
      else router.history.replace(href);
    },
    [router],
  );
  return [search, setSearch];
}
