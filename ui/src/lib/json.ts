// JSON is laid out token by token from its own text: no number is ever parsed, no key dropped, no order changed.

export type TokenKind = 'mark' | 'key' | 'string' | 'number' | 'word';

export interface Token {
  kind: TokenKind;
  text: string;
}

export interface Line {
  depth: number;
  tokens: Token[];
}

const blank = /[ \t\r\n]+/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in a string
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;

function scan(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

type Container = { open: '{' | '['; state: 'first' | 'value' | 'key' | 'colon' | 'after' };

/** Cuts valid JSON into its tokens, whatever its depth. Null when the text is not one whole JSON value. */
export function tokenize(text: string): Token[] | null {
  const tokens: Token[] = [];
  const stack: Container[] = [];
  let done = false;
  let at = 0;

  const value = (): boolean => {
    const top = stack[stack.length - 1];
    if (!top) {
      if (done) return false;
      done = true;
      return true;
    }
    const allowed = top.open === '[' ? top.state === 'first' || top.state === 'value' : top.state === 'value';
    if (allowed) top.state = 'after';
    return allowed;
  };

  while (at < text.length) {
    const space = scan(blank, text, at);
    if (space) {
      at += space.length;
      continue;
    }
    const c = text[at] as string;
    const top = stack[stack.length - 1];
    let token: Token | null = null;
    if (c === '{' || c === '[') {
      if (!value()) return null;
      stack.push({ open: c, state: 'first' });
      token = { kind: 'mark', text: c };
    } else if (c === '}' || c === ']') {
      if (!top || top.open !== (c === '}' ? '{' : '[') || !(top.state === 'first' || top.state === 'after'))
        return null;
      stack.pop();
      token = { kind: 'mark', text: c };
    } else if (c === ',') {
      if (top?.state !== 'after') return null;
      top.state = top.open === '{' ? 'key' : 'value';
      token = { kind: 'mark', text: c };
    } else if (c === ':') {
      if (top?.state !== 'colon') return null;
      top.state = 'value';
      token = { kind: 'mark', text: c };
    } else if (c === '"') {
      const literal = scan(string, text, at);
      if (literal === null) return null;
      const isKey = top?.open === '{' && (top.state === 'first' || top.state === 'key');
      if (isKey) top.state = 'colon';
      else if (!value()) return null;
      token = { kind: isKey ? 'key' : 'string', text: literal };
    } else {
      const literal = scan(number, text, at) || scan(word, text, at);
      if (!literal || !value()) return null;
      const next = text[at + literal.length];
      if (next !== undefined && /[\w.+-]/.test(next)) return null;
      token = { kind: /^[-\d]/.test(literal) ? 'number' : 'word', text: literal };
    }
    tokens.push(token);
    at += token.text.length;
  }
  return done && stack.length === 0 ? tokens : null;
}

/** The tokens as indented lines; empty objects and arrays stay on one line. */
export function layOut(tokens: Token[]): Line[] {
  const lines: Line[] = [];
  let line: Line = { depth: 0, tokens: [] };
  let depth = 0;
  const wrap = () => {
    if (line.tokens.length > 0) lines.push(line);
    line = { depth, tokens: [] };
  };
  for (const [index, token] of tokens.entries()) {
    const { text } = token;
    if (token.kind === 'mark' && (text === '{' || text === '[')) {
      line.tokens.push(token);
      depth++;
      const next = tokens[index + 1];
      if (!(next?.kind === 'mark' && (next.text === '}' || next.text === ']'))) wrap();
    } else if (token.kind === 'mark' && (text === '}' || text === ']')) {
      depth--;
      const previous = tokens[index - 1];
      if (!(previous?.kind === 'mark' && (previous.text === '{' || previous.text === '['))) wrap();
      line.tokens.push(token);
    } else if (token.kind === 'mark' && text === ',') {
      line.tokens.push(token);
      wrap();
    } else if (token.kind === 'mark' && text === ':') {
      line.tokens.push({ kind: 'mark', text: ': ' });
    } else {
      line.tokens.push(token);
    }
  }
  wrap();
  return lines;
}

/** Two spaces a level, every literal as it was written. Null when the text is not JSON. */
export function prettyPrint(text: string): string | null {
  const tokens = tokenize(text);
  if (!tokens) return null;
  return layOut(tokens)
    .map((line) => '  '.repeat(line.depth) + line.tokens.map((token) => token.text).join(''))
    .join('\n');
}

/** Tokens of a cut-off preview: as far as it can be read, the rest as it stands. */
export function tokenizePreview(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern =
    /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\]:,]|\s+|[^\s"{}[\]:,]+|")/g;
  for (const match of text.matchAll(pattern)) {
    if (match[1] !== undefined) {
      tokens.push({ kind: match[2] === undefined ? 'string' : 'key', text: match[1] });
      if (match[2] !== undefined) tokens.push({ kind: 'mark', text: match[2] });
    } else if (match[3] !== undefined) tokens.push({ kind: 'number', text: match[3] });
    else if (match[4] !== undefined) tokens.push({ kind: 'word', text: match[4] });
    else tokens.push({ kind: 'mark', text: match[0] });
  }
  return tokens;
}
