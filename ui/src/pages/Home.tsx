import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { clustersQuery } from '../api/queries';
import { useGo } from '../components/A';
import { QueryState } from '../components/State';
import { paths } from '../lib/paths';

/** With one cluster its topics are home, else the list of clusters. */
export function HomePage() {
  const go = useGo();
  const query = useQuery(clustersQuery());
  const only = query.data?.clusters.length === 1 ? query.data.clusters[0] : undefined;
  const home = query.data ? (only ? paths.topics(only.id) : paths.clusters()) : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: go is the same act at every render
  useEffect(() => {
    if (home) go(home, { replace: true });
  }, [home]);
  return <QueryState query={query}>{() => null}</QueryState>;
}
