import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { topicQuery } from '../api/queries';
import type { ProblemBody, RecordRow } from '../api/types';
import { MessageRange } from '../components/messages/MessageRange';
import { RecordPanel } from '../components/messages/RecordPanel';
import { ScanStatus } from '../components/messages/ScanStatus';
import { Page } from '../components/Page';
import { PreviewCell, previewText } from '../components/PreviewCell';
import { Empty, Failure, Loading, Partial } from '../components/State';
import { ColumnsMenu } from '../components/table/ColumnsMenu';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Num, Size } from '../components/values';
import { useFormat } from '../lib/format';
import { useKeys } from '../lib/keys';
import { matchWords } from '../lib/match';
import { formatRecord, type MessageQuery, parseMessageQuery, parseRecord } from '../lib/search';
import { type ScanView, useScan } from '../lib/useScan';
import { useSearch } from '../lib/useSearch';
import { useSearchText } from '../lib/useSearchText';
import css from './Messages.module.css';
import type { TopicTabProps } from './Topic';

export const rowKey = (row: RecordRow) => formatRecord(row);

/** The date that all rows share, so that it is written once. */
function sharedDate(rows: readonly RecordRow[], date: (epoch: string) => string): string | null {
  const first = rows[0];
  const last = rows[rows.length - 1];
  if (!first || !last) return null;
  const day = date(first.timestamp);
  return rows.every((row) => date(row.timestamp) === day) ? day : null;
}

/** Room for a time, or for a clock below a date and zone in smaller letters. */
function timeChars(several: boolean, zone: string): number {
  return several ? 24 : Math.max(13, Math.ceil((12 + zone.length) * 0.88));
}

function useColumns(rows: readonly RecordRow[]): Column<RecordRow>[] {
  const { t } = useTranslation();
  const { time, clock, date, zoneName, iso, num, size } = useFormat();
  const day = useMemo(() => sharedDate(rows, date), [rows, date]);
  const several = rows.length > 0 && day === null;
  return useMemo<Column<RecordRow>[]>(
    () => [
      {
        id: 'time',
        title:
          day === null
            ? t('message.timeIn', { zone: zoneName })
            : t('message.dayIn', { day, zone: zoneName }),
        chars: timeChars(several, zoneName),
        mono: true,
        text: (row) => iso(row.timestamp),
        cell: (row) => (
          <span title={`${iso(row.timestamp)} · ${zoneName} · ${row.timestampType} · ${row.timestamp}`}>
            {row.timestamp === '-1'
              ? t('message.noTime')
              : day === null
                ? time(row.timestamp)
                : clock(row.timestamp)}
          </span>
        ),
      },
      {
        id: 'partition',
        title: t('message.partition'),
        chars: 6,
        numeric: true,
        yields: 4,
        text: (row) => row.partition.toString(),
        cell: (row) => num(row.partition),
      },
      {
        id: 'offset',
        title: t('message.offset'),
        chars: 14,
        numeric: true,
        fixed: true,
        text: (row) => row.offset,
        cell: (row) => <Num value={row.offset} />,
      },
      {
        id: 'key',
        title: t('message.key'),
        chars: 22,
        minChars: 10,
        mono: true,
        text: (row) => previewText(row.key),
        cell: (row) => <PreviewCell preview={row.key} />,
      },
      {
        id: 'value',
        title: t('message.value'),
        chars: 40,
        minChars: 24,
        grow: true,
        mono: true,
        text: (row) => previewText(row.value),
        cell: (row) => <PreviewCell preview={row.value} tombstone />,
      },
      {
        id: 'headers',
        title: t('message.headers'),
        chars: 10,
        numeric: true,
        yields: 2,
        text: (row) => row.headers.toString(),
        cell: (row) => num(row.headers),
      },
      {
        id: 'size',
        title: t('message.size'),
        chars: 9,
        numeric: true,
        yields: 1,
        text: (row) => size(row.bytes),
        cell: (row) => <Size bytes={row.bytes} />,
      },
      {
        id: 'timestampType',
        title: t('message.timestampType'),
        chars: 15,
        yields: 3,
        optional: true,
        text: (row) => row.timestampType,
      },
      {
        id: 'leaderEpoch',
        title: t('message.leaderEpoch'),
        chars: 8,
        numeric: true,
        yields: 0,
        optional: true,
        text: (row) => num(row.leaderEpoch),
      },
      {
        id: 'compression',
        title: t('message.compression'),
        chars: 9,
        yields: 0,
        optional: true,
        text: (row) => row.compression,
      },
    ],
    [t, time, clock, iso, zoneName, num, size, day, several],
  );
}

export function MessagesTab({ cluster, topic, tabs }: TopicTabProps) {
  const { t } = useTranslation();
  const [search, setSearch] = useSearch();
  const [text, setText] = useSearchText('q');
  const { from, n, partitions } = search;
  const query = useMemo<MessageQuery>(
    () => parseMessageQuery({ from, n, partitions } as Record<string, string>),
    [from, n, partitions],
  );
  const { view, stop, restart, proceed, pause } = useScan(cluster, topic, query);
  const detail = useQuery(topicQuery(cluster, topic)).data;
  const live = query.range.kind === 'live';
  const failure = view.rows.length === 0 ? failureOf(view) : undefined;
  // Live tries again by itself: what went wrong and is well again is no longer said.
  const healed = live && view.running && view.progress?.waiting === 0;
  const rows = useMemo(
    () =>
      text === ''
        ? view.rows
        : view.rows.filter((row) =>
            matchWords(`${previewText(row.key)} ${previewText(row.value)} ${row.offset}`, text),
          ),
    [view.rows, text],
  );
  const columns = useColumns(rows);
  const record = parseRecord(search.record);
  const filter = useRef<HTMLInputElement>(null);
  const close = () => setSearch({ record: '', view: '' });
  useKeys({
    '/': () => filter.current?.focus(),
    r: () => restart(),
    p: () => live && pause(!view.paused),
    ...(record ? { Escape: close } : {}),
  });
  const open = (row: RecordRow) => setSearch({ record: formatRecord(row) }, { push: record === null });

  // The record that is open keeps its place in the history: only its opening can be gone back over.
  const index = record ? rows.findIndex((row) => rowKey(row) === formatRecord(record)) : -1;
  const neighbour = (by: 1 | -1) => rows[index + by];

  return (
    <Page
      tabs={tabs}
      toolbar={
        <>
          <TextInput
            ref={filter}
            className={css.filter}
            aria-label={t('message.filter')}
            placeholder={t('message.filter')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
          <MessageRange
            query={query}
            partitions={detail?.partitions.length}
            running={view.running}
            paused={view.paused}
            onChange={(next) => setSearch(next)}
            onStop={stop}
            onRestart={restart}
            onPause={pause}
          />
        </>
      }
      banner={!failure && !healed && <Partial problems={view.problems.map((problem) => problem.problem)} />}
      keys={[
        { keys: ['/'], label: t('keys.filter') },
        { keys: ['j', 'k'], label: t('keys.rows') },
        { keys: ['Enter'], label: t('keys.open') },
        { keys: ['c'], label: t('keys.copy') },
      ]}
      note={<SkippedNote progress={view.progress} />}
    >
      <div className={css.split}>
        <div className={css.left}>
          <ScanStatus
            view={view}
            live={live}
            filtered={text === '' ? null : rows.length}
            onProceed={proceed}
            onPause={pause}
            columns={<ColumnsMenu table="messages" columns={columns} />}
          />
          <div className={css.table}>
            {failure ? (
              <Failure problem={failure} onRetry={restart} />
            ) : view.running && !live && view.rows.length === 0 ? (
              <Loading rows={16} />
            ) : (
              <DataTable
                id="messages"
                label={t('topic.messages')}
                columns={columns}
                rows={rows}
                rowKey={rowKey}
                active={record ? formatRecord(record) : undefined}
                onActive={record ? open : undefined}
                onOpen={open}
                openOnClick
                anchored={live}
                empty={<NoMessages view={view} live={live} filtered={text !== ''} topic={topic} />}
              />
            )}
          </div>
        </div>
        {record && (
          <RecordPanel
            cluster={cluster}
            topic={topic}
            position={record}
            onClose={close}
            onPrevious={
              index > 0 ? () => setSearch({ record: formatRecord(neighbour(-1) as RecordRow) }) : undefined
            }
            onNext={
              index >= 0 && index < rows.length - 1
                ? () => setSearch({ record: formatRecord(neighbour(1) as RecordRow) })
                : undefined
            }
          />
        )}
      </div>
    </Page>
  );
}

/** Why nothing at all could be read. */
function failureOf(view: ScanView): ProblemBody | undefined {
  if (view.error) return view.error;
  return view.done?.reason === 'failed' ? view.problems[0]?.problem : undefined;
}

function SkippedNote({ progress }: { progress: ScanView['progress'] }) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  if (!progress) return t('scan.committed');
  const parts = [t('scan.committed')];
  if (progress.aborted !== '0') parts.push(t('scan.aborted', plural(progress.aborted)));
  if (progress.markers !== '0') parts.push(t('scan.markers', plural(progress.markers)));
  if (progress.gaps !== '0') parts.push(t('scan.gaps', plural(progress.gaps)));
  return parts.join(' · ');
}

interface NoMessagesProps {
  view: ScanView;
  live: boolean;
  filtered: boolean;
  topic: string;
}

function NoMessages({ view, live, filtered, topic }: NoMessagesProps) {
  const { t } = useTranslation();
  if (filtered && view.rows.length > 0) {
    return <Empty title={t('message.noMatch')} reason={t('message.noMatchReason')} />;
  }
  if (live && view.running)
    return <Empty title={t('message.waiting')} reason={t('message.waitingReason', { topic })} />;
  if (!view.done) return null;
  const reason = view.done.reason;
  const known = reason === 'pastEnd' || reason === 'noLaterRecords' || reason === 'empty';
  return (
    <Empty
      title={t('message.none')}
      reason={known ? t(`message.noneReason.${reason}`) : t(`scan.reason.${reason}`)}
    />
  );
}
