/** True when every word of the query occurs in the text, whatever its case. An empty query matches all. */
export function matchWords(text: string, query: string): boolean {
  const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const lower = text.toLocaleLowerCase();
  return words.every((word) => lower.includes(word));
}
