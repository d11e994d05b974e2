import { Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { groupQuery, refreshCluster } from '../api/queries';
import type { GroupDetail, GroupOffset } from '../api/types';
import { A, useGo } from '../components/A';
import { Dialog } from '../components/Dialog';
import formCss from '../components/Form.module.css';
import { groupStateTone, useGroupState } from '../components/groupState';
import { Page, Spring } from '../components/Page';
import { Empty, Failure, Partial, QueryState } from '../components/State';
import { ColumnsMenu } from '../components/table/ColumnsMenu';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Num, Tag, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { compareIntegers } from '../lib/int64';
import { useKeys } from '../lib/keys';
import { say } from '../lib/notice';
import { paths } from '../lib/paths';
import { formatSort, parseSort } from '../lib/search';
import { useName, useReadOnly } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';
import css from './Group.module.css';

const firstSort = { column: 'topic', descending: false };

function byPlace(a: GroupOffset, b: GroupOffset): number {
  return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1;
}

function useColumns(cluster: string): Column<GroupOffset>[] {
  const { t } = useTranslation();
  const { num } = useFormat();
  return useMemo<Column<GroupOffset>[]>(() => {
    const offset = (
      id: 'start' | 'end',
      title: string,
      hint: string,
      yields: number,
    ): Column<GroupOffset> => ({
      id,
      title,
      hint,
      chars: 15,
      numeric: true,
      yields,
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
        id: 'topic',
        title: t('group.topic'),
        chars: 28,
        minChars: 16,
        grow: true,
        fixed: true,
        text: (row) => row.topic,
        compare: byPlace,
        cell: (row) => (
          <A href={paths.topic(cluster, row.topic)} tabIndex={-1}>
            {row.topic}
          </A>
        ),
      },
      {
        id: 'partition',
        title: t('message.partition'),
        chars: 6,
        numeric: true,
        fixed: true,
        text: (row) => num(row.partition),
        compare: (a, b) => a.partition - b.partition,
      },
      {
        id: 'committed',
        title: t('group.committed'),
        hint: t('group.committedHint'),
        chars: 15,
        numeric: true,
        text: (row) => row.committed ?? '',
        compare: (a, b) => compareIntegers(a.committed, b.committed),
        cell: (row) =>
          row.committed === undefined ? (
            <Unknown reason={t('offsetState.neverCommitted')} />
          ) : (
            <Num value={row.committed} />
          ),
      },
      offset('start', t('partition.start'), t('partition.startHint'), 2),
      offset('end', t('partition.end'), t('partition.endHint'), 4),
      {
        id: 'lag',
        title: t('group.lag'),
        hint: t('group.lagHint'),
        chars: 13,
        numeric: true,
        fixed: true,
        text: (row) => row.lag ?? '',
        compare: (a, b) => compareIntegers(a.lag, b.lag),
        cell: (row) =>
          row.lag === undefined ? (
            <Unknown reason={t(`offsetState.${row.state}`)} />
          ) : (
            <Num value={row.lag} />
          ),
      },
      {
        id: 'state',
        title: t('group.state'),
        chars: 22,
        text: (row) => (row.state === 'ok' ? '' : t(`offsetState.${row.state}`)),
        compare: (a, b) => a.state.localeCompare(b.state),
        cell: (row) =>
          row.state === 'ok' ? (
            row.lastStable !== undefined && row.lastStable !== row.end ? (
              <Tag title={t('group.openTransactionHint')}>{t('group.openTransaction')}</Tag>
            ) : null
          ) : (
            <Tag
              tone={row.state === 'neverCommitted' ? 'dim' : 'warn'}
              title={t(`offsetState.${row.state}Hint`)}
            >
              {t(`offsetState.${row.state}`)}
            </Tag>
          ),
      },
      {
        id: 'member',
        title: t('group.member'),
        chars: 24,
        minChars: 12,
        yields: 3,
        mono: true,
        text: (row) => row.clientId ?? row.member ?? '',
        cell: (row) => <span title={row.member}>{row.clientId ?? row.member ?? ''}</span>,
      },
      { id: 'host', title: t('group.host'), chars: 16, yields: 1, mono: true, text: (row) => row.host ?? '' },
    ];
  }, [t, num, cluster]);
}

export function GroupPage() {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const cluster = useName('cluster');
  const group = useName('group');
  const readOnly = useReadOnly();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const query = useQuery(groupQuery(cluster, group));
  const columns = useColumns(cluster);
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  useKeys({ r: () => query.refetch() });
  return (
    <Page
      toolbar={
        <>
          {query.data && <Facts detail={query.data} />}
          <Spring />
          <ColumnsMenu table="group" columns={columns} />
          {!readOnly && query.data && (
            <Button
              variant="default"
              leftSection={<IconTrash className={formCss.icon} />}
              onClick={() => setSearch({ dialog: 'delete' }, { push: true })}
            >
              {t('deleteGroup.open')}
            </Button>
          )}
        </>
      }
      banner={<Partial problems={query.data?.problems} />}
      keys={[{ keys: ['j', 'k'], label: t('keys.rows') }]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query}>
        {(data) => (
          <DataTable
            id="group"
            label={group}
            columns={columns}
            rows={data.offsets}
            rowKey={(row) => `${row.topic} ${row.partition}`}
            sort={sort}
            onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
            onOpen={(row) =>
              go(
                `${paths.topic(cluster, row.topic)}?partitions=${row.partition}${row.committed === undefined ? '' : `&from=offset:${row.committed}`}`,
              )
            }
            empty={<Empty title={t('group.noOffsets')} reason={t('group.noOffsetsReason')} />}
          />
        )}
      </QueryState>
      {search.dialog === 'delete' && !readOnly && query.data && (
        <DeleteGroup cluster={cluster} detail={query.data} onClose={() => setSearch({ dialog: '' })} />
      )}
    </Page>
  );
}

function Facts({ detail }: { detail: GroupDetail }) {
  const { t } = useTranslation();
  const { num, plural } = useFormat();
  const words = useGroupState();
  return (
    <div className={css.facts}>
      <Tag tone={groupStateTone(detail.state)}>{words(detail.state)}</Tag>
      {detail.type !== '' && <span>{detail.type}</span>}
      {detail.protocol && <span>{detail.protocol}</span>}
      <span>{t('count.members', plural(detail.members.length))}</span>
      {detail.coordinator >= 0 && <span>{t('group.onBroker', { id: detail.coordinator })}</span>}
      <strong>
        {t('group.lag')}: {detail.lag === undefined ? '–' : num(detail.lag)}
      </strong>
      {detail.notCounted > 0 && <span>{t('group.notCounted', plural(detail.notCounted))}</span>}
    </div>
  );
}

interface DeleteGroupProps {
  cluster: string;
  detail: GroupDetail;
  onClose: () => void;
}

function DeleteGroup({ cluster, detail, onClose }: DeleteGroupProps) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  const go = useGo();
  const client = useQueryClient();
  const { group } = detail;
  const committed = detail.offsets.filter((offset) => offset.committed !== undefined).length;
  const remove = useMutation({
    mutationFn: () =>
      unwrap(
        api.DELETE('/api/v1/clusters/{cluster}/groups/{group}', { params: { path: { cluster, group } } }),
      ),
    onSuccess: async () => {
      say(t('deleteGroup.done', { name: group }));
      go(paths.groups(cluster));
      client.removeQueries({ queryKey: ['cluster', cluster, 'group', group] });
      await refreshCluster(client, cluster);
    },
  });
  const busy = detail.members.length > 0;
  return (
    <Dialog
      title={t('deleteGroup.title', { name: group })}
      onClose={onClose}
      framed
      small
      actions={
        <>
          <Button variant="default" onClick={onClose}>
            {t('action.cancel')}
          </Button>
          <Button color="bad" disabled={busy} loading={remove.isPending} onClick={() => remove.mutate()}>
            {t('deleteGroup.submit')}
          </Button>
        </>
      }
    >
      <p>
        {busy
          ? t('deleteGroup.busy', plural(detail.members.length))
          : t('deleteGroup.warning', plural(committed))}
      </p>
      {remove.error && <Failure problem={toProblem(remove.error).body} compact />}
    </Dialog>
  );
}
