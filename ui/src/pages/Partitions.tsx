import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { overviewQuery, topicQuery } from '../api/queries';
import type { PartitionRow } from '../api/types';
import { Page } from '../components/Page';
import { Partial, QueryState } from '../components/State';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Estimate, Num, Size, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers, subtract } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { formatSort, parseSort } from '../lib/search';
import { useSearch } from '../lib/useSearch';
import type { TopicTabProps } from './Topic';

const firstSort = { column: 'id', descending: false };

function records(row: PartitionRow): string | undefined {
  return row.start !== undefined && row.end !== undefined ? subtract(row.end, row.start) : undefined;
}

function useColumns(brokers: number | undefined): Column<PartitionRow>[] {
  const { t } = useTranslation();
  const { num, size } = useFormat();
  return useMemo<Column<PartitionRow>[]>(() => {
    const offset = (id: 'start' | 'end', title: string, hint: string): Column<PartitionRow> => ({
      id,
      title,
      hint,
      chars: 15,
      numeric: true,
      text: (row) => row[id] ?? '',
      compare: (a, b) => compareIntegers(a[id], b[id]),
      cell: (row) =>
        row[id] === undefined ? (
          <Unknown reason={row.problem?.title ?? t('unknown.offsets')} />
        ) : (
          <Num value={row[id]} />
        ),
    });
    return [
      {
        id: 'id',
        title: t('partition.id'),
        chars: 10,
        numeric: true,
        fixed: true,
        text: (row) => num(row.id),
        compare: (a, b) => a.id - b.id,
      },
      offset('start', t('partition.start'), t('partition.startHint')),
      offset('end', t('partition.end'), t('partition.endHint')),
      {
        id: 'records',
        title: t('topics.records'),
        hint: t('topics.recordsHint'),
        chars: 14,
        numeric: true,
        yields: 3,
        text: (row) => records(row) ?? '',
        compare: (a, b) => compareIntegers(records(a), records(b)),
        cell: (row) => {
          const count = records(row);
          if (count === undefined) return <Unknown reason={t('unknown.offsets')} />;
          return count === '0' ? (
            <Num value={count} />
          ) : (
            <Estimate value={count} reason={t('topics.recordsHint')} />
          );
        },
      },
      {
        id: 'size',
        title: t('topics.size'),
        chars: 11,
        numeric: true,
        yields: 2,
        text: (row) => (row.bytes === undefined ? '' : size(row.bytes)),
        compare: (a, b) => compareIntegers(a.bytes, b.bytes),
        cell: (row) =>
          row.bytes === undefined ? <Unknown reason={t('unknown.logDirs')} /> : <Size bytes={row.bytes} />,
      },
      {
        id: 'leader',
        title: t('partition.leader'),
        chars: 9,
        numeric: true,
        text: (row) => (row.leader < 0 ? '' : num(row.leader)),
        compare: (a, b) => a.leader - b.leader,
        cell: (row) =>
          row.leader < 0 ? <Tag tone="bad">{t('partition.noLeader')}</Tag> : <Num value={row.leader} />,
      },
      {
        id: 'epoch',
        title: t('partition.epoch'),
        chars: 9,
        numeric: true,
        yields: 1,
        text: (row) => num(row.leaderEpoch),
        compare: (a, b) => a.leaderEpoch - b.leaderEpoch,
      },
      {
        id: 'replicas',
        title: t('partition.replicas'),
        chars: 12,
        mono: true,
        text: (row) => row.replicas.join(', '),
      },
      {
        id: 'isr',
        title: t('partition.isr'),
        hint: t('partition.isrHint'),
        chars: 12,
        mono: true,
        text: (row) => row.isr.join(', '),
      },
      {
        id: 'state',
        title: t('partition.state'),
        chars: 20,
        grow: true,
        text: (row) => t(`partition.${row.state}`),
        cell: (row) => {
          // With one broker there is nobody to replicate to.
          if (row.state === 'underReplicated' && brokers === 1) return t('partition.ok');
          const tone = row.state === 'offline' ? 'bad' : 'warn';
          if (row.state === 'ok') return t('partition.ok');
          return (
            <Tag tone={tone} title={row.words}>
              {t(`partition.${row.state}`)}
            </Tag>
          );
        },
      },
    ];
  }, [t, num, size, brokers]);
}

export function PartitionsTab({ cluster, topic, tabs }: TopicTabProps) {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const [search, setSearch] = useSearch();
  const query = useQuery(topicQuery(cluster, topic));
  const brokers = useQuery(overviewQuery(cluster)).data?.brokers.length;
  const columns = useColumns(brokers);
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  useKeys({ r: () => query.refetch() });
  return (
    <Page
      tabs={tabs}
      banner={<Partial problems={query.data?.problems} />}
      keys={[{ keys: ['j', 'k'], label: t('keys.rows') }]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query}>
        {(data) => (
          <DataTable
            id="partitions"
            label={t('topic.partitions')}
            columns={columns}
            rows={data.partitions}
            rowKey={(row) => row.id.toString()}
            sort={sort}
            onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
          />
        )}
      </QueryState>
    </Page>
  );
}
