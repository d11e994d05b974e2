import { Button } from '@mantine/core';
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { clustersQuery } from '../api/queries';
import type { Cluster } from '../api/types';
import { A, useGo } from '../components/A';
import { Dialog } from '../components/Dialog';
import { IconAction } from '../components/IconAction';
import { Page, Spring, Summary } from '../components/Page';
import { Empty, Failure, Partial, QueryState } from '../components/State';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Dot, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { say } from '../lib/notice';
import { paths } from '../lib/paths';
import { formatSort, parseSort } from '../lib/search';
import { clusterColor } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';
import css from './Clusters.module.css';

const firstSort = { column: 'name', descending: false };
const tones = { unknown: 'dim', up: 'good', partial: 'warn', down: 'bad' } as const;

function useColumns(onDelete: (cluster: Cluster) => void): Column<Cluster>[] {
  const { t } = useTranslation();
  const { num, time } = useFormat();
  const go = useGo();
  // biome-ignore lint/correctness/useExhaustiveDependencies: go and onDelete are the same acts at every render
  return useMemo<Column<Cluster>[]>(() => {
    const count = (id: 'brokers' | 'topics', title: string, yields: number): Column<Cluster> => ({
      id,
      title,
      chars: 9,
      numeric: true,
      yields,
      text: (row) => (row.health[id] === undefined ? '' : num(row.health[id])),
      compare: (a, b) => (a.health[id] ?? -1) - (b.health[id] ?? -1),
      cell: (row) =>
        row.health[id] === undefined ? <Unknown reason={t('health.unknown')} /> : num(row.health[id]),
    });
    return [
      {
        id: 'name',
        title: t('clusters.name'),
        chars: 26,
        minChars: 18,
        grow: true,
        fixed: true,
        text: (row) => row.settings.name,
        compare: (a, b) => a.settings.name.localeCompare(b.settings.name),
        cell: (row) => (
          <>
            <span
              className={css.color}
              style={{ background: clusterColor(row.settings.color) }}
              aria-hidden="true"
            />
            <A href={paths.topics(row.id)} tabIndex={-1}>
              {row.settings.name}
            </A>{' '}
            {row.embedded && <Tag title={t('clusters.embeddedHint')}>{t('clusters.embedded')}</Tag>}{' '}
            {row.settings.readOnly && <Tag tone="warn">{t('clusters.readOnly')}</Tag>}
          </>
        ),
      },
      {
        id: 'address',
        title: t('clusters.address'),
        chars: 24,
        minChars: 18,
        mono: true,
        text: (row) => row.settings.bootstrap.join(','),
      },
      { id: 'security', title: t('clusters.security'), chars: 14, yields: 1, text: (row) => row.security },
      {
        id: 'health',
        title: t('clusters.health'),
        chars: 18,
        text: (row) => t(`health.${row.health.state}`),
        compare: (a, b) => a.health.state.localeCompare(b.health.state),
        cell: (row) => (
          <span className={css.health} title={row.health.problem?.title}>
            <Dot tone={tones[row.health.state]} label={t(`health.${row.health.state}`)} />
            {t(`health.${row.health.state}`)}
            {row.health.state === 'up' &&
              row.health.millis !== undefined &&
              ` · ${t('health.millis', { n: row.health.millis })}`}
          </span>
        ),
      },
      count('brokers', t('nav.brokers'), 4),
      count('topics', t('nav.topics'), 5),
      {
        id: 'product',
        title: t('clusters.version'),
        chars: 18,
        yields: 3,
        text: (row) => row.health.product ?? '',
      },
      {
        id: 'used',
        title: t('clusters.lastUsed'),
        chars: 24,
        yields: 2,
        mono: true,
        text: (row) => (row.lastUsed ? time(row.lastUsed) : ''),
        compare: (a, b) => compareIntegers(a.lastUsed, b.lastUsed),
      },
      {
        id: 'actions',
        title: '',
        chars: 9,
        fixed: true,
        text: () => '',
        cell: (row) =>
          !row.embedded && (
            <span className={css.actions}>
              <IconAction
                label={t('clusters.edit')}
                icon={IconPencil}
                onClick={() => go(paths.editCluster(row.id))}
              />
              <IconAction
                label={t('clusters.delete')}
                icon={IconTrash}
                danger
                onClick={() => onDelete(row)}
              />
            </span>
          ),
      },
    ];
  }, [t, num, time]);
}

export function ClustersPage() {
  const { t } = useTranslation();
  const { plural } = useFormat();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const [doomed, setDoomed] = useState<Cluster | null>(null);
  const query = useQuery(clustersQuery());
  const columns = useColumns(setDoomed);
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  useKeys({ r: () => query.refetch() });
  const add = (
    <Button leftSection={<IconPlus />} onClick={() => go(paths.newCluster())}>
      {t('clusters.add')}
    </Button>
  );
  return (
    <Page
      toolbar={
        <>
          <Summary>{query.data && t('count.saved', plural(query.data.clusters.length))}</Summary>
          <Spring />
          {add}
        </>
      }
      banner={<Partial problems={query.data?.problems} />}
      keys={[
        { keys: ['j', 'k'], label: t('keys.rows') },
        { keys: ['Enter'], label: t('keys.open') },
      ]}
    >
      <QueryState query={query}>
        {(data) =>
          data.clusters.length === 0 ? (
            <Empty title={t('clusters.none')} reason={t('clusters.noneReason')}>
              {add}
            </Empty>
          ) : (
            <DataTable
              id="clusters"
              label={t('nav.clusters')}
              columns={columns}
              rows={data.clusters}
              rowKey={(row) => row.id}
              sort={sort}
              onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
              onOpen={(row) => go(paths.topics(row.id))}
            />
          )
        }
      </QueryState>
      {doomed && <DeleteCluster cluster={doomed} onClose={() => setDoomed(null)} />}
    </Page>
  );
}

function DeleteCluster({ cluster, onClose }: { cluster: Cluster; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      unwrap(api.DELETE('/api/v1/clusters/{cluster}', { params: { path: { cluster: cluster.id } } })),
    onSuccess: async () => {
      say(t('clusters.deleted', { name: cluster.settings.name }));
      onClose();
      await client.invalidateQueries({ queryKey: ['clusters'] });
    },
  });
  return (
    <Dialog
      title={t('clusters.deleteTitle', { name: cluster.settings.name })}
      onClose={onClose}
      small
      actions={
        <>
          <Button variant="default" onClick={onClose}>
            {t('action.cancel')}
          </Button>
          <Button color="bad" loading={remove.isPending} onClick={() => remove.mutate()}>
            {t('clusters.delete')}
          </Button>
        </>
      }
    >
      <p>{t('clusters.deleteWarning', { address: cluster.settings.bootstrap.join(', ') })}</p>
      {remove.error && <Failure problem={toProblem(remove.error).body} compact />}
    </Dialog>
  );
}
