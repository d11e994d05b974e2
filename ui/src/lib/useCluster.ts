import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { clustersQuery } from '../api/queries';
import type { Cluster } from '../api/types';
import { decodeName } from './paths';

/** A path parameter as the name it stands for; empty when the page has none. */
export function useName(param: 'cluster' | 'topic' | 'group'): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  const segment = params[param];
  return segment === undefined ? '' : decodeName(segment);
}

/** The cluster in the address; undefined while the list is on its way or when it is not in it. */
export function useCluster(): Cluster | undefined {
  const id = useName('cluster');
  return useQuery(clustersQuery()).data?.clusters.find((cluster) => cluster.id === id);
}

/** Whether changes on this cluster are refused. */
export function useReadOnly(): boolean {
  return useCluster()?.settings.readOnly ?? false;
}

export const clusterColors = ['red', 'orange', 'yellow', 'green', 'blue', 'violet', 'grey'] as const;

/** The cluster's own colour as a value for CSS. */
export function clusterColor(color: string | undefined): string {
  const known = clusterColors.find((name) => name === color);
  return known ? `var(--k-cluster-${known})` : 'var(--k-line-strong)';
}
