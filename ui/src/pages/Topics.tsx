import { Button, Checkbox, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { topicsQuery } from '../api/queries';
import type { TopicRow } from '../api/types';
import { A, useGo } from '../components/A';
import { FirstSteps } from '../components/FirstSteps';
import { Page, Spring, Summary } from '../components/Page';
import { Empty, Partial, QueryState } from '../components/State';
import { ColumnsMenu } from '../components/table/ColumnsMenu';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Estimate, Num, Size, Tag, Unknown } from '../components/values';
import { formatRetention } from '../lib/duration';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { matchWords } from '../lib/match';
import { paths } from '../lib/paths';
import { formatSort, parseSort } from '../lib/search';
import { useName, useReadOnly } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';
import { useSearchText } from '../lib/useSearchText';
import { CreateTopic } from './CreateTopic';

const firstSort = { column: 'name', descending: false };

function useColumns(cluster: string): Column<TopicRow>[] {
  const { t } = useTranslation();
  const { num, size } = useFormat();
  return useMemo<Column<TopicRow>[]>(
    () => [
      {
        id: 'name',
        title: t('topics.name'),
        chars: 30,
        grow: true,
        fixed: true,
        text: (row) => row.name,
        compare: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
        cell: (row) => (
          <>
            <A href={paths.topic(cluster, row.name)} tabIndex={-1}>
              {row.name}
            </A>{' '}
            {row.internal && <Tag>{t('topics.internal')}</Tag>}{' '}
            {row.offline > 0 && <Tag tone="bad">{t('topics.offline', { count: row.offline })}</Tag>}{' '}
            {row.underReplicated > 0 && (
              <Tag tone="warn">{t('topics.underReplicated', { count: row.underReplicated })}</Tag>
            )}
          </>
        ),
      },
      {
        id: 'partitions',
        title: t('topics.partitions'),
        chars: 11,
        numeric: true,
        text: (row) => num(row.partitions),
        compare: (a, b) => a.partitions - b.partitions,
      },
      {
        id: 'replication',
        title: t('topics.replication'),
        hint: t('topics.replicationHint'),
        chars: 8,
        numeric: true,
        yields: 2,
        text: (row) => num(row.replication),
        compare: (a, b) => a.replication - b.replication,
      },
      {
        id: 'records',
        title: t('topics.records'),
        hint: t('topics.recordsHint'),
        chars: 18,
        numeric: true,
        text: (row) => row.records ?? '',
        compare: (a, b) => compareIntegers(a.records, b.records),
        cell: (row) =>
          row.records === undefined ? (
            <Unknown reason={row.problem?.title ?? t('unknown.offsets')} />
          ) : row.recordsExact || row.records === '0' ? (
            <Num value={row.records} />
          ) : (
            <Estimate value={row.records} reason={t('topics.recordsHint')} />
          ),
      },
      {
        id: 'size',
        title: t('topics.size'),
        hint: t('topics.sizeHint'),
        chars: 11,
        numeric: true,
        yields: 4,
        text: (row) => (row.bytes === undefined ? '' : size(row.bytes)),
        compare: (a, b) => compareIntegers(a.bytes, b.bytes),
        cell: (row) =>
          row.bytes === undefined ? <Unknown reason={t('unknown.logDirs')} /> : <Size bytes={row.bytes} />,
      },
      {
        id: 'retention',
        title: t('topics.retention'),
        chars: 11,
        numeric: true,
        yields: 3,
        text: (row) => (row.retentionMs === undefined ? '' : formatRetention(row.retentionMs, t)),
        compare: (a, b) => compareIntegers(a.retentionMs, b.retentionMs),
        cell: (row) =>
          row.retentionMs === undefined ? (
            <Unknown reason={t('unknown.configs')} />
          ) : (
            formatRetention(row.retentionMs, t)
          ),
      },
      {
        id: 'cleanup',
        title: t('topics.cleanup'),
        chars: 15,
        yields: 1,
        text: (row) => row.cleanupPolicy ?? '',
        compare: (a, b) => (a.cleanupPolicy ?? '').localeCompare(b.cleanupPolicy ?? ''),
        cell: (row) => row.cleanupPolicy ?? <Unknown reason={t('unknown.configs')} />,
      },
    ],
    [t, num, size, cluster],
  );
}

export function TopicsPage() {
  const { t } = useTranslation();
  const { clock, num, plural } = useFormat();
  const cluster = useName('cluster');
  const readOnly = useReadOnly();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const [text, setText] = useSearchText('q');
  const query = useQuery(topicsQuery(cluster));
  const columns = useColumns(cluster);
  const filter = useRef<HTMLInputElement>(null);
  useKeys({
    '/': () => filter.current?.focus(),
    r: () => query.refetch(),
  });

  const internal = search.internal === '1';
  const all = query.data?.topics;
  const rows = useMemo(
    () => (all ?? []).filter((row) => (internal || !row.internal) && matchWords(row.name, text)),
    [all, internal, text],
  );
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  const hidden = (all ?? []).filter((row) => row.internal).length;
  const own = (all ?? []).length - hidden;
  const create = !readOnly && (
    <Button leftSection={<IconPlus />} onClick={() => setSearch({ dialog: 'create' }, { push: true })}>
      {t('topics.create')}
    </Button>
  );

  return (
    <Page
      toolbar={
        <>
          <TextInput
            ref={filter}
            w="var(--k-palette)"
            aria-label={t('topics.filter')}
            placeholder={t('topics.filter')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
          <Checkbox
            label={t('topics.showInternal', { n: num(hidden) })}
            checked={internal}
            onChange={(event) => setSearch({ internal: event.currentTarget.checked ? '1' : '' })}
          />
          <Summary>
            {all &&
              (rows.length === own
                ? t('count.topics', plural(own))
                : t('count.ofTopics', { ...plural(all.length), shown: num(rows.length) }))}
          </Summary>
          <Spring />
          <ColumnsMenu table="topics" columns={columns} />
          {create}
        </>
      }
      banner={<Partial problems={query.data?.problems} />}
      keys={[
        { keys: ['/'], label: t('keys.query') },
        { keys: ['j', 'k'], label: t('keys.rows') },
        { keys: ['Enter'], label: t('keys.open') },
      ]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query} rows={16}>
        {() =>
          own === 0 && !internal && text === '' ? (
            <FirstSteps create={create} />
          ) : (
            <DataTable
              id="topics"
              label={t('nav.topics')}
              columns={columns}
              rows={rows}
              rowKey={(row) => row.name}
              sort={sort}
              onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
              onOpen={(row) => go(paths.topic(cluster, row.name))}
              empty={
                <Empty title={t('topics.noMatch')} reason={t('topics.noMatchReason', { text })}>
                  <Button
                    variant="default"
                    onClick={() => {
                      setText('');
                      setSearch({ internal: '' });
                    }}
                  >
                    {t('action.clearFilter')}
                  </Button>
                </Empty>
              }
            />
          )
        }
      </QueryState>
      {search.dialog === 'create' && !readOnly && <CreateTopic onClose={() => setSearch({ dialog: '' })} />}
    </Page>
  );
}
