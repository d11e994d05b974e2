export type TopicNameFault = 'empty' | 'dots' | 'long' | 'chars';

const longest = 249;

/** Why Kafka refuses this topic name; null when it does not. */
export function topicNameFault(name: string): TopicNameFault | null {
  if (name === '') return 'empty';
  if (name === '.' || name === '..') return 'dots';
  if (name.length > longest) return 'long';
  return /^[a-zA-Z0-9._-]+$/.test(name) ? null : 'chars';
}

/** Another topic whose metrics would fall together with this one's, because Kafka writes "." and "_" alike there. */
export function topicNameTwin(name: string, others: readonly string[]): string | undefined {
  const folded = name.replaceAll('.', '_');
  return others.find((other) => other !== name && other.replaceAll('.', '_') === folded);
}
