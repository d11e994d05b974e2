import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { consumersQuery } from '../api/queries';
import type { TopicConsumer } from '../api/types';
import { A, useGo } from '../components/A';
import { groupStateTone, useGroupState } from '../components/groupState';
import { Page } from '../components/Page';
import { Empty, Partial, QueryState } from '../components/State';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Num, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { paths } from '../lib/paths';
import { formatSort, parseSort } from '../lib/search';
import { useSearch } from '../lib/useSearch';
import type { TopicTabProps } from './Topic';

const firstSort = { column: 'group', descending: false };

function useColumns(cluster: string): Column<TopicConsumer>[] {
  const { t } = useTranslation();
  const { num, plural } = useFormat();
  const words = useGroupState();
  return useMemo<Column<TopicConsumer>[]>(
    () => [
      {
        id: 'group',
        title: t('group.name'),
        chars: 30,
        grow: true,
        fixed: true,
        text: (row) => row.group,
        compare: (a, b) => (a.group < b.group ? -1 : 1),
        cell: (row) => (
          <A href={paths.group(cluster, row.group)} tabIndex={-1}>
            {row.group}
          </A>
        ),
      },
      {
        id: 'state',
        title: t('group.state'),
        chars: 22,
        text: (row) => words(row.state),
        compare: (a, b) => a.state.localeCompare(b.state),
        cell: (row) => <Tag tone={groupStateTone(row.state)}>{words(row.state)}</Tag>,
      },
      { id: 'type', title: t('group.type'), chars: 12, yields: 1, text: (row) => row.type },
      {
        id: 'members',
        title: t('group.members'),
        chars: 11,
        numeric: true,
        text: (row) => num(row.members),
        compare: (a, b) => a.members - b.members,
      },
      {
        id: 'lag',
        title: t('group.lag'),
        hint: t('group.lagHint'),
        chars: 16,
        numeric: true,
        text: (row) => row.lag ?? '',
        compare: (a, b) => compareIntegers(a.lag, b.lag),
        cell: (row) =>
          row.lag === undefined ? <Unknown reason={t('unknown.lag')} /> : <Num value={row.lag} />,
      },
      {
        id: 'notes',
        title: t('group.notes'),
        chars: 34,
        minChars: 16,
        text: (row) =>
          [
            row.neverCommitted > 0 && t('group.neverCommittedCount', plural(row.neverCommitted)),
            row.aheadOfLog > 0 && t('group.aheadOfLogCount', plural(row.aheadOfLog)),
          ]
            .filter(Boolean)
            .join(' · '),
      },
    ],
    [t, num, plural, words, cluster],
  );
}

export function ConsumersTab({ cluster, topic, tabs }: TopicTabProps) {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const query = useQuery(consumersQuery(cluster, topic));
  const columns = useColumns(cluster);
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  useKeys({ r: () => query.refetch() });
  return (
    <Page
      tabs={tabs}
      banner={<Partial problems={query.data?.problems} />}
      keys={[
        { keys: ['j', 'k'], label: t('keys.rows') },
        { keys: ['Enter'], label: t('keys.open') },
      ]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query}>
        {(data) =>
          data.groups.length === 0 ? (
            <Empty title={t('consumers.none')} reason={t('consumers.noneReason')} />
          ) : (
            <DataTable
              id="consumers"
              label={t('topic.consumers')}
              columns={columns}
              rows={data.groups}
              rowKey={(row) => row.group}
              sort={sort}
              onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
              onOpen={(row) => go(paths.group(cluster, row.group))}
            />
          )
        }
      </QueryState>
    </Page>
  );
}
