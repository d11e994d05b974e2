import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useMemo, useRef } from 'react';
import { fromHex, hexRow, hexRowCount } from '../lib/bytes';
import { tokenizePreview } from '../lib/json';
import { tokenPixels } from '../lib/tokens';
import { useRoom } from '../lib/useRoom';
import css from './code.module.css';

const longestLine = 4000; // characters in one drawn piece

interface TextViewProps {
  label: string;
  text: string;
  json: boolean;
  /** Below the last line. */
  more?: ReactNode;
}

/** Text of any length, drawn as far as it is in view; long lines are drawn in pieces. */
export function TextView({ label, text, json, more }: TextViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => cutLines(text), [text]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => tokenPixels('--k-line'),
    overscan: 20,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div ref={scroller} className={css.view} role="region" aria-label={label} tabIndex={0}>
      <div className={css.lines} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={virtual.measureElement}
            data-index={item.index}
            className={css.codeLine}
            style={{ transform: `translateY(${item.start}px)` }}
          >
            {json ? <Tokens text={lines[item.index] ?? ''} /> : lines[item.index] || ' '}
          </div>
        ))}
      </div>
      {more}
    </div>
  );
}

function cutLines(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r\n|\n/)) {
    if (line.length <= longestLine) lines.push(line);
    else for (let at = 0; at < line.length; at += longestLine) lines.push(line.slice(at, at + longestLine));
  }
  return lines;
}

function Tokens({ text }: { text: string }) {
  const tokens = tokenizePreview(text);
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of one line never move
    <span key={index} data-kind={token.kind} className={css.token}>
      {token.text}
    </span>
  ));
}

const wideRow = 80; // characters that sixteen bytes a row need

interface HexViewProps {
  label: string;
  /** Two digits a byte. */
  hex: string;
  more?: ReactNode;
}

/** A hex dump: sixteen bytes a row, eight when there is no room. */
export function HexView({ label, hex, more }: HexViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const room = useRoom(scroller);
  const bytes = useMemo(() => fromHex(hex) ?? new Uint8Array(), [hex]);
  const perRow = room >= wideRow * tokenPixels('--k-char') ? 16 : 8;
  const virtual = useVirtualizer({
    count: hexRowCount(bytes.length, perRow),
    getScrollElement: () => scroller.current,
    estimateSize: () => tokenPixels('--k-line'),
    overscan: 20,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div ref={scroller} className={css.view} role="region" aria-label={label} tabIndex={0}>
      <div className={css.lines} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = hexRow(bytes, item.index, perRow);
          return (
            <div key={item.key} className={css.hexLine} style={{ transform: `translateY(${item.start}px)` }}>
              <span className={css.hexOffset}>{row.offset}</span>
              <span>{row.hex}</span>
              <span className={css.hexText}>{row.text}</span>
            </div>
          );
        })}
      </div>
      {more}
    </div>
  );
}

/** What stands after the last line that is there. */
export function CodeEnd({ children }: { children: ReactNode }) {
  return <div className={css.more}>{children}</div>;
}
