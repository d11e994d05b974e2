import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { brokersQuery, overviewQuery } from '../api/queries';
import type { Broker } from '../api/types';
import { Page, Spring, Summary } from '../components/Page';
import { Partial, QueryState } from '../components/State';
import { ColumnsMenu } from '../components/table/ColumnsMenu';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Size, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { formatSort, parseSort } from '../lib/search';
import { useServerWords } from '../lib/serverWords';
import { useName } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';

const firstSort = { column: 'id', descending: false };

function useColumns(): Column<Broker>[] {
  const { t } = useTranslation();
  const { num, size } = useFormat();
  return useMemo<Column<Broker>[]>(() => {
    const dirs = (row: Broker) =>
      row.logDirs
        .map((dir) => {
          const free =
            dir.usableBytes === undefined ? '' : ` · ${t('broker.free', { size: size(dir.usableBytes) })}`;
          return `${dir.path} · ${dir.problem ? dir.problem.title : size(dir.bytes)}${free}`;
        })
        .join('  |  ');
    return [
      {
        id: 'id',
        title: t('broker.id'),
        chars: 6,
        numeric: true,
        fixed: true,
        text: (row) => row.id.toString(),
        compare: (a, b) => a.id - b.id,
      },
      {
        id: 'address',
        title: t('broker.address'),
        chars: 28,
        mono: true,
        text: (row) => `${row.host}:${row.port}`,
        compare: (a, b) => a.host.localeCompare(b.host) || a.port - b.port,
        cell: (row) => (
          <>
            {row.host}:{row.port} {row.controller && <Tag tone="accent">{t('broker.controller')}</Tag>}
          </>
        ),
      },
      { id: 'rack', title: t('broker.rack'), chars: 12, yields: 1, text: (row) => row.rack ?? '' },
      {
        id: 'leaders',
        title: t('broker.leaders'),
        hint: t('broker.leadersHint'),
        chars: 10,
        numeric: true,
        text: (row) => num(row.leaders),
        compare: (a, b) => a.leaders - b.leaders,
      },
      {
        id: 'replicas',
        title: t('broker.replicas'),
        hint: t('broker.replicasHint'),
        chars: 10,
        numeric: true,
        text: (row) => num(row.replicas),
        compare: (a, b) => a.replicas - b.replicas,
      },
      {
        id: 'size',
        title: t('topics.size'),
        chars: 11,
        numeric: true,
        text: (row) => (row.logBytes === undefined ? '' : size(row.logBytes)),
        compare: (a, b) => compareIntegers(a.logBytes, b.logBytes),
        cell: (row) =>
          row.logBytes === undefined ? (
            <Unknown reason={t('unknown.logDirs')} />
          ) : (
            <Size bytes={row.logBytes} />
          ),
      },
      {
        id: 'dirs',
        title: t('broker.logDirs'),
        chars: 30,
        grow: true,
        mono: true,
        text: dirs,
        cell: (row) =>
          row.logDirs.length === 0 ? (
            <Unknown reason={t('unknown.logDirs')} />
          ) : (
            <span title={dirs(row)}>{dirs(row)}</span>
          ),
      },
    ];
  }, [t, num, size]);
}

export function BrokersPage() {
  const { t } = useTranslation();
  const { clock, plural } = useFormat();
  const cluster = useName('cluster');
  const [search, setSearch] = useSearch();
  const query = useQuery(brokersQuery(cluster));
  const overview = useQuery(overviewQuery(cluster)).data;
  const words = useServerWords();
  const columns = useColumns();
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  useKeys({ r: () => query.refetch() });
  const facts = overview
    ? [
        t('count.brokers', plural(overview.brokers.length)),
        overview.controller === undefined
          ? t('broker.noController')
          : t('broker.controllerIs', { id: overview.controller }),
        t('count.partitions', plural(overview.partitions)),
        overview.product.name,
        overview.clusterId && t('broker.clusterId', { id: overview.clusterId }),
      ]
    : [];
  return (
    <Page
      toolbar={
        <>
          <span title={overview && words(overview.controllerSource)}>
            <Summary>{facts.filter(Boolean).join(' · ')}</Summary>
          </span>
          <Spring />
          <ColumnsMenu table="brokers" columns={columns} />
        </>
      }
      banner={<Partial problems={query.data?.problems} />}
      keys={[{ keys: ['j', 'k'], label: t('keys.rows') }]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query}>
        {(data) => (
          <DataTable
            id="brokers"
            label={t('nav.brokers')}
            columns={columns}
            rows={data.brokers}
            rowKey={(row) => row.id.toString()}
            sort={sort}
            onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
          />
        )}
      </QueryState>
    </Page>
  );
}
