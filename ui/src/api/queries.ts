import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';

// Every read of the API, with its cache key. Keys begin with the cluster, so that one call refreshes a cluster.

const path = (cluster: string) => ({ path: { cluster } });
const topicPath = (cluster: string, topic: string) => ({ path: { cluster, topic } });

export const infoQuery = () =>
  queryOptions({
    queryKey: ['info'],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/info', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const clustersQuery = () =>
  queryOptions({
    queryKey: ['clusters'],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/clusters', { signal })),
  });

export const overviewQuery = (cluster: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'overview'],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/clusters/{cluster}', { params: path(cluster), signal })),
    staleTime: 20_000,
  });

export const brokersQuery = (cluster: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'brokers'],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/clusters/{cluster}/brokers', { params: path(cluster), signal })),
  });

export const topicsQuery = (cluster: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'topics'],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/clusters/{cluster}/topics', { params: path(cluster), signal })),
  });

export const topicQuery = (cluster: string, topic: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'topic', topic],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/clusters/{cluster}/topics/{topic}', { params: topicPath(cluster, topic), signal }),
      ),
  });

export const impactQuery = (cluster: string, topic: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'topic', topic, 'impact'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/clusters/{cluster}/topics/{topic}/impact', {
          params: topicPath(cluster, topic),
          signal,
        }),
      ),
    gcTime: 0,
  });

export const consumersQuery = (cluster: string, topic: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'topic', topic, 'consumers'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/clusters/{cluster}/topics/{topic}/consumers', {
          params: topicPath(cluster, topic),
          signal,
        }),
      ),
  });

export const recordQuery = (cluster: string, topic: string, partition: number, offset: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'topic', topic, 'record', partition, offset],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}', {
          params: { path: { cluster, topic, partition, offset } },
          signal,
        }),
      ),
    staleTime: 60_000, // a record does not change; it can only go
  });

export const groupsQuery = (cluster: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'groups'],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/clusters/{cluster}/groups', { params: path(cluster), signal })),
  });

export const groupQuery = (cluster: string, group: string) =>
  queryOptions({
    queryKey: ['cluster', cluster, 'group', group],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/clusters/{cluster}/groups/{group}', {
          params: { path: { cluster, group } },
          signal,
        }),
      ),
    refetchInterval: 5000, // only while the page is in front
  });

/** Everything known about a cluster is asked again when next shown. */
export function refreshCluster(client: QueryClient, cluster: string): Promise<void> {
  return client.invalidateQueries({ queryKey: ['cluster', cluster] });
}
