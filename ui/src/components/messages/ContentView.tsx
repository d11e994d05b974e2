import { Button, SegmentedControl } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toProblem } from '../../api/client';
import { type Part, readSlice, type View } from '../../api/content';
import type { Content, Slice } from '../../api/types';
import { useFormat } from '../../lib/format';
import { useServerWords } from '../../lib/serverWords';
import { CodeEnd, HexView, TextView } from '../CodeView';
import { Tag } from '../values';
import css from './messages.module.css';

interface ContentViewProps {
  part: Part;
  content: Content;
  /** Which view to show; the first there is when left out. */
  view?: View;
  label: string;
}

/** The views a content has, best first. */
export function viewsOf(content: Content): View[] {
  const views: View[] = [];
  if (content.pretty) views.push('pretty');
  if (content.text) views.push('text');
  if (content.hex) views.push('hex');
  return views;
}

/** A key, value or header in full: what it was read as and why, in the view one chooses. */
export function ContentView({ part, content, view, label }: ContentViewProps) {
  const { t } = useTranslation();
  const { size } = useFormat();
  const words = useServerWords();
  const views = viewsOf(content);
  const [own, setOwn] = useState<View | null>(null);
  const wanted = view ?? own;
  const chosen = views.find((name) => name === wanted) ?? views[0];
  if (content.kind === 'null') return <Nothing kind="null" part={part.part} />;
  if (content.kind === 'empty') return <Nothing kind="empty" part={part.part} />;
  return (
    <>
      <div className={css.why}>
        <span className={css.whyText}>
          {content.format} · {size(content.bytes)} · {words(content.reason)}
        </span>
        {!view && views.length > 1 && (
          <SegmentedControl
            aria-label={t('record.view')}
            value={chosen}
            onChange={(value) => setOwn(value as View)}
            data={views.map((value) => ({ value, label: t(`record.${value}`) }))}
          />
        )}
      </div>
      {chosen && (
        <Slices
          key={`${part.partition}@${part.offset} ${part.part} ${chosen}`}
          part={part}
          view={chosen}
          first={content[chosen]}
          label={label}
          json={content.kind === 'json'}
        />
      )}
    </>
  );
}

function Nothing({ kind, part }: { kind: 'null' | 'empty'; part: Part['part'] }) {
  const { t } = useTranslation();
  return (
    <p className={css.nothing}>
      <i>{kind === 'null' ? 'null' : t('value.empty')}</i>{' '}
      <Tag>{kind === 'null' ? t('value.noBytes') : t('value.zero')}</Tag>
      <br />
      {t(`record.${kind}.${part}`)}
    </p>
  );
}

interface SlicesProps {
  part: Part;
  view: View;
  first: Slice | undefined;
  label: string;
  json: boolean;
}

function Slices({ part, view, first, label, json }: SlicesProps) {
  const { t } = useTranslation();
  const { size } = useFormat();
  const [slices, setSlices] = useState<Slice[]>(first ? [first] : []);
  const last = slices[slices.length - 1];
  const next = last?.next;
  const more = useMutation({
    mutationFn: (from: string) => readSlice(part, view, from),
    onSuccess: (slice) => setSlices((known) => [...known, slice]),
  });
  const data = slices.map((slice) => slice.data).join('');
  const end = next !== undefined && last && (
    <CodeEnd>
      {t('record.shownOf', { shown: size(next), total: size(last.total) })}
      <Button variant="subtle" loading={more.isPending} onClick={() => more.mutate(next)}>
        {t('record.more')}
      </Button>
      {more.error && <span className={css.bad}>{toProblem(more.error).body.title}</span>}
    </CodeEnd>
  );
  return (
    <div className={css.view}>
      {view === 'hex' ? (
        <HexView label={label} hex={data} more={end} />
      ) : (
        <TextView label={label} text={data} json={json} more={end} />
      )}
    </div>
  );
}
