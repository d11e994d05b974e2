import { Button, Menu, Tabs } from '@mantine/core';
import { IconDots, IconSend, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { consumersQuery, topicQuery } from '../api/queries';
import type { TopicDetail } from '../api/types';
import { useGo } from '../components/A';
import { Spring, Summary } from '../components/Page';
import { formatAgo, formatRetention } from '../lib/duration';
import { useFormat } from '../lib/format';
import { paths, type TopicTab, topicTabs } from '../lib/paths';
import { useName, useReadOnly } from '../lib/useCluster';
import { useSearch } from '../lib/useSearch';
import { ConfigurationTab } from './Configuration';
import { ConsumersTab } from './Consumers';
import { DeleteTopic } from './DeleteTopic';
import { MessagesTab } from './Messages';
import { NotFoundPage } from './NotFound';
import { PartitionsTab } from './Partitions';
import { Send } from './Send';
import css from './Topic.module.css';

/** One topic: its tabs, and the dialogs that work on it. */
export function TopicPage() {
  const cluster = useName('cluster');
  const topic = useName('topic');
  const readOnly = useReadOnly();
  const { tab } = useParams({ strict: false }) as { tab?: string };
  const [search, setSearch] = useSearch();
  const chosen = topicTabs.find((name) => name === tab);
  if (!chosen) return <NotFoundPage />;
  const tabs = <TopicTabs cluster={cluster} topic={topic} tab={chosen} />;
  const page = {
    messages: <MessagesTab key={`${cluster} ${topic}`} cluster={cluster} topic={topic} tabs={tabs} />,
    partitions: <PartitionsTab cluster={cluster} topic={topic} tabs={tabs} />,
    consumers: <ConsumersTab cluster={cluster} topic={topic} tabs={tabs} />,
    configuration: <ConfigurationTab cluster={cluster} topic={topic} tabs={tabs} />,
  }[chosen];
  return (
    <>
      {page}
      {search.dialog === 'send' && !readOnly && (
        <Send cluster={cluster} topic={topic} onClose={() => setSearch({ dialog: '' })} />
      )}
      {search.dialog === 'delete' && !readOnly && (
        <DeleteTopic topic={topic} onClose={() => setSearch({ dialog: '' })} />
      )}
    </>
  );
}

/** What every tab of a topic gets. */
export interface TopicTabProps {
  cluster: string;
  topic: string;
  tabs: ReactNode;
}

function TopicTabs({ cluster, topic, tab }: { cluster: string; topic: string; tab: TopicTab }) {
  const { t } = useTranslation();
  const { num } = useFormat();
  const go = useGo();
  const readOnly = useReadOnly();
  const [, setSearch] = useSearch();
  const detail = useQuery(topicQuery(cluster, topic)).data;
  const consumers = useQuery(consumersQuery(cluster, topic)).data;
  const counts: Partial<Record<TopicTab, number>> = {
    partitions: detail?.partitions.length,
    consumers: consumers?.groups.length,
  };
  return (
    <Tabs
      value={tab}
      onChange={(value) => value && go(paths.topic(cluster, topic, value as TopicTab))}
      classNames={{ root: css.tabs, list: css.list, tab: css.tab }}
    >
      <Tabs.List>
        {topicTabs.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {t(`topic.${name}`)}
            {counts[name] !== undefined && <span className={css.count}> {num(counts[name])}</span>}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {detail ? <TopicSummary detail={detail} /> : <Spring />}
      {!readOnly && (
        <>
          <Button
            variant="default"
            leftSection={<IconSend className={css.icon} />}
            onClick={() => setSearch({ dialog: 'send' }, { push: true })}
          >
            {t('send.open')}
          </Button>
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default" aria-label={t('topic.more')} px="var(--k-2)">
                <IconDots className={css.icon} />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                color="bad"
                leftSection={<IconTrash className={css.icon} />}
                onClick={() => setSearch({ dialog: 'delete' }, { push: true })}
              >
                {t('deleteTopic.open')}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      )}
    </Tabs>
  );
}

function TopicSummary({ detail }: { detail: TopicDetail }) {
  const { t } = useTranslation();
  const { num, size, plural } = useFormat();
  const retention = detail.configs.find((config) => config.name === 'retention.ms')?.value;
  const parts: string[] = [];
  if (detail.records !== undefined) {
    const counted = plural(detail.records);
    parts.push(
      t('count.records', { ...counted, n: detail.records === '0' ? '0' : `~${num(detail.records)}` }),
    );
  }
  if (detail.bytes !== undefined) parts.push(size(detail.bytes));
  if (detail.lastTimestamp !== undefined) {
    const age = BigInt(detail.fetchedAt) - BigInt(detail.lastTimestamp);
    parts.push(t('topic.lastAgo', { ago: formatAgo(age, t) }));
  }
  if (retention !== undefined) parts.push(t('topic.keeps', { time: formatRetention(retention, t) }));
  return (
    <span className={css.summary} title={t('topics.recordsHint')}>
      <Summary>{parts.join(' · ')}</Summary>
    </span>
  );
}
