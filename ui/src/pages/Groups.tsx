import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { groupsQuery } from '../api/queries';
import type { GroupRow } from '../api/types';
import { A, useGo } from '../components/A';
import { groupStateTone, useGroupState } from '../components/groupState';
import { Page, Spring, Summary } from '../components/Page';
import { Empty, Partial, QueryState } from '../components/State';
import { ColumnsMenu } from '../components/table/ColumnsMenu';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Estimate, Num, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { matchWords } from '../lib/match';
import { paths } from '../lib/paths';
import { formatSort, parseSort } from '../lib/search';
import { useName } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';
import { useSearchText } from '../lib/useSearchText';

const firstSort = { column: 'group', descending: false };

function useColumns(cluster: string): Column<GroupRow>[] {
  const { t } = useTranslation();
  const { num } = useFormat();
  const words = useGroupState();
  return useMemo<Column<GroupRow>[]>(
    () => [
      {
        id: 'group',
        title: t('group.name'),
        chars: 34,
        grow: true,
        fixed: true,
        text: (row) => row.group,
        compare: (a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0),
        cell: (row) => (
          <A href={paths.group(cluster, row.group)} tabIndex={-1}>
            {row.group === '' ? t('group.emptyName') : row.group}
          </A>
        ),
      },
      {
        id: 'state',
        title: t('group.state'),
        chars: 24,
        minChars: 16,
        text: (row) => words(row.state),
        compare: (a, b) => a.state.localeCompare(b.state),
        cell: (row) =>
          row.problem ? (
            <Tag tone="warn" title={row.problem.title}>
              {row.problem.code}
            </Tag>
          ) : (
            <Tag tone={groupStateTone(row.state)}>{words(row.state)}</Tag>
          ),
      },
      {
        id: 'type',
        title: t('group.type'),
        chars: 11,
        yields: 2,
        text: (row) => row.type,
        compare: (a, b) => a.type.localeCompare(b.type),
      },
      {
        id: 'members',
        title: t('group.members'),
        chars: 11,
        numeric: true,
        text: (row) => (row.members === undefined ? '' : num(row.members)),
        compare: (a, b) => (a.members ?? -1) - (b.members ?? -1),
        cell: (row) =>
          row.members === undefined ? <Unknown reason={t('unknown.members')} /> : num(row.members),
      },
      {
        id: 'topics',
        title: t('group.topics'),
        chars: 28,
        minChars: 12,
        yields: 3,
        text: (row) => row.topics.join(', '),
        cell: (row) => <span title={row.topics.join('\n')}>{row.topics.join(', ')}</span>,
      },
      {
        id: 'coordinator',
        title: t('group.coordinator'),
        hint: t('group.coordinatorHint'),
        chars: 13,
        numeric: true,
        yields: 1,
        text: (row) => num(row.coordinator),
        compare: (a, b) => a.coordinator - b.coordinator,
        cell: (row) =>
          row.coordinator < 0 ? <Unknown reason={t('unknown.coordinator')} /> : num(row.coordinator),
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
          row.lag === undefined ? (
            <Unknown reason={t('unknown.lag')} />
          ) : row.lagPartial ? (
            <Estimate value={row.lag} reason={t('group.lagPartial')} />
          ) : (
            <Num value={row.lag} />
          ),
      },
    ],
    [t, num, words, cluster],
  );
}

export function GroupsPage() {
  const { t } = useTranslation();
  const { clock, plural } = useFormat();
  const cluster = useName('cluster');
  const go = useGo();
  const [search, setSearch] = useSearch();
  const [text, setText] = useSearchText('q');
  const query = useQuery(groupsQuery(cluster));
  const columns = useColumns(cluster);
  const filter = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => filter.current?.focus(), r: () => query.refetch() });
  const all = query.data?.groups;
  const rows = useMemo(
    () => (all ?? []).filter((row) => matchWords(`${row.group} ${row.topics.join(' ')}`, text)),
    [all, text],
  );
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  return (
    <Page
      toolbar={
        <>
          <TextInput
            ref={filter}
            w="var(--k-palette)"
            aria-label={t('groups.filter')}
            placeholder={t('groups.filter')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
          <Summary>{all && t('count.groups', plural(rows.length))}</Summary>
          <Spring />
          <ColumnsMenu table="groups" columns={columns} />
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
        {(data) =>
          data.groups.length === 0 ? (
            <Empty title={t('groups.none')} reason={t('groups.noneReason')} />
          ) : (
            <DataTable
              id="groups"
              label={t('nav.groups')}
              columns={columns}
              rows={rows}
              rowKey={(row) => row.group}
              sort={sort}
              onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
              onOpen={(row) => go(paths.group(cluster, row.group))}
              empty={
                <Empty title={t('groups.noMatch')}>
                  <Button variant="default" onClick={() => setText('')}>
                    {t('action.clearFilter')}
                  </Button>
                </Empty>
              }
            />
          )
        }
      </QueryState>
    </Page>
  );
}
