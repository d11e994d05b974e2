// The only place that builds an address of a page.

/**
 * A name as one path segment. Group names may hold anything: slashes, percent signs, nothing at all. Browsers and
 * servers fold "." and ".." away, so those and the empty name get a "~" in front, as does a name that begins with it.
 */
export function encodeName(name: string): string {
  const guarded = name === '' || name === '.' || name === '..' || name.startsWith('~') ? `~${name}` : name;
  return encodeURIComponent(guarded);
}

/** The name in a path segment that the router has percent-decoded already. */
export function decodeName(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}

export type TopicTab = 'messages' | 'partitions' | 'consumers' | 'configuration';
export const topicTabs: readonly TopicTab[] = ['messages', 'partitions', 'consumers', 'configuration'];

const cluster = (id: string) => `/clusters/${encodeName(id)}`;

export const paths = {
  home: () => '/',
  clusters: () => '/clusters',
  newCluster: () => '/new-cluster',
  editCluster: (id: string) => `${cluster(id)}/edit`,
  topics: (id: string) => `${cluster(id)}/topics`,
  topic: (id: string, topic: string, tab: TopicTab = 'messages') =>
    `${cluster(id)}/topics/${encodeName(topic)}/${tab}`,
  groups: (id: string) => `${cluster(id)}/groups`,
  group: (id: string, group: string) => `${cluster(id)}/groups/${encodeName(group)}`,
  brokers: (id: string) => `${cluster(id)}/brokers`,
};
