import { Checkbox, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { topicQuery } from '../api/queries';
import type { ConfigEntry } from '../api/types';
import { Page, Summary } from '../components/Page';
import { Empty, Failure, Partial, QueryState } from '../components/State';
import type { Column } from '../components/table/columns';
import { DataTable } from '../components/table/DataTable';
import { Tag } from '../components/values';
import en from '../i18n/en.json';
import { formatRetention } from '../lib/duration';
import { useFormat } from '../lib/format';
import { useKeys } from '../lib/keys';
import { matchWords } from '../lib/match';
import { formatSort, parseSort } from '../lib/search';
import { useSearch } from '../lib/useSearch';
import { useSearchText } from '../lib/useSearchText';
import type { TopicTabProps } from './Topic';

const firstSort = { column: 'name', descending: false };

type KnownSource = keyof typeof en.configSource;

function useColumns(): Column<ConfigEntry>[] {
  const { t } = useTranslation();
  const { size } = useFormat();
  return useMemo<Column<ConfigEntry>[]>(() => {
    const value = (row: ConfigEntry) => (row.sensitive ? t('config.secret') : (row.value ?? ''));
    const meaning = (row: ConfigEntry) => {
      if (row.value === undefined || !/^\d{4,}$/.test(row.value)) return '';
      if (row.name.endsWith('.ms')) return formatRetention(row.value, t);
      return row.name.endsWith('.bytes') ? size(row.value) : '';
    };
    const source = (row: ConfigEntry) =>
      row.source in en.configSource ? t(`configSource.${row.source as KnownSource}`) : row.source;
    return [
      {
        id: 'name',
        title: t('config.name'),
        chars: 40,
        minChars: 26,
        mono: true,
        fixed: true,
        text: (row) => row.name,
        compare: (a, b) => (a.name < b.name ? -1 : 1),
        cell: (row) => <span title={row.doc}>{row.name}</span>,
      },
      {
        id: 'value',
        title: t('config.value'),
        chars: 28,
        minChars: 20,
        grow: true,
        mono: true,
        text: value,
        cell: (row) => {
          if (row.sensitive) return <Tag>{t('config.secret')}</Tag>;
          if (row.value === undefined) return <Tag>{t('config.null')}</Tag>;
          if (row.value === '') return <Tag>{t('config.empty')}</Tag>;
          return <span title={row.value}>{row.value}</span>;
        },
      },
      { id: 'meaning', title: t('config.meaning'), chars: 14, yields: 1, numeric: true, text: meaning },
      {
        id: 'source',
        title: t('config.source'),
        chars: 26,
        minChars: 20,
        text: source,
        compare: (a, b) => source(a).localeCompare(source(b)),
        cell: (row) => (row.default ? source(row) : <Tag tone="accent">{source(row)}</Tag>),
      },
      { id: 'type', title: t('config.type'), chars: 10, yields: 0, text: (row) => row.type ?? '' },
    ];
  }, [t, size]);
}

export function ConfigurationTab({ cluster, topic, tabs }: TopicTabProps) {
  const { t } = useTranslation();
  const { plural, clock } = useFormat();
  const [search, setSearch] = useSearch();
  const [text, setText] = useSearchText('q');
  const query = useQuery(topicQuery(cluster, topic));
  const columns = useColumns();
  const filter = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => filter.current?.focus(), r: () => query.refetch() });
  const changed = search.changed === '1';
  const configs = query.data?.configs;
  const rows = useMemo(
    () =>
      (configs ?? []).filter(
        (row) => (!changed || !row.default) && matchWords(`${row.name} ${row.value ?? ''}`, text),
      ),
    [configs, changed, text],
  );
  const sort = useMemo(() => parseSort(search.sort, firstSort), [search.sort]);
  const refused = query.data?.problems.find((problem) => problem.operation === 'DescribeConfigs');
  return (
    <Page
      tabs={tabs}
      toolbar={
        <>
          <TextInput
            ref={filter}
            w="var(--k-palette)"
            aria-label={t('config.filter')}
            placeholder={t('config.filter')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Checkbox
            label={t('config.onlyChanged')}
            checked={changed}
            onChange={(event) => setSearch({ changed: event.currentTarget.checked ? '1' : '' })}
          />
          <Summary>{configs && t('count.settings', plural(rows.length))}</Summary>
        </>
      }
      banner={configs && configs.length > 0 && <Partial problems={query.data?.problems} />}
      keys={[
        { keys: ['/'], label: t('keys.query') },
        { keys: ['j', 'k'], label: t('keys.rows') },
      ]}
      note={query.data && t('state.asOf', { time: clock(query.data.fetchedAt) })}
    >
      <QueryState query={query}>
        {(data) =>
          data.configs.length === 0 && refused ? (
            <Failure problem={refused} onRetry={() => query.refetch()} />
          ) : (
            <DataTable
              id="configs"
              label={t('topic.configuration')}
              columns={columns}
              rows={rows}
              rowKey={(row) => row.name}
              sort={sort}
              onSort={(next) => setSearch({ sort: formatSort(next, firstSort) ?? '' })}
              empty={
                <Empty title={t('config.noMatch')} reason={changed ? t('config.noneChanged') : undefined} />
              }
            />
          )
        }
      </QueryState>
    </Page>
  );
}
