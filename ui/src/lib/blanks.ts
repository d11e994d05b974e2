/** Line breaks and tabs as signs, so that text stays on one line and nothing is hidden. */
export function showBlanks(text: string): string {
  return text.replaceAll('\r\n', '↵').replaceAll('\n', '↵').replaceAll('\r', '␍').replaceAll('\t', '⇥');
}
