import { Menu } from '@mantine/core';
import {
  IconChevronsLeft,
  IconChevronsRight,
  IconPlus,
  IconSelector,
  IconServer,
  IconStack2,
  IconTopologyStar3,
  IconUsersGroup,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import type { ComponentType, CSSProperties } from 'react';
import { useTranslation } from 'react-i18next';
import { clustersQuery, overviewQuery } from '../../api/queries';
import type { Cluster, Overview } from '../../api/types';
import { useFormat } from '../../lib/format';
import { paths } from '../../lib/paths';
import { clusterColor, useName } from '../../lib/useCluster';
import { A, useGo } from '../A';
import { Dot } from '../values';
import css from './Shell.module.css';

interface SidebarProps {
  collapsed: boolean;
  /** Left out where there is no room to choose. */
  onCollapse?: ((collapsed: boolean) => void) | undefined;
}

export function Sidebar({ collapsed, onCollapse }: SidebarProps) {
  const { t } = useTranslation();
  const id = useName('cluster');
  const clusters = useQuery(clustersQuery()).data?.clusters ?? [];
  const current = clusters.find((cluster) => cluster.id === id);
  const overview = useQuery({ ...overviewQuery(id), enabled: current !== undefined });
  const place = useRouterState({ select: (state) => state.location.pathname });
  const inCluster = id !== '' && !place.endsWith('/edit');
  const Collapse = collapsed ? IconChevronsRight : IconChevronsLeft;
  return (
    <nav className={css.bar} aria-label={t('nav.label')}>
      <Switcher
        clusters={clusters}
        current={inCluster ? current : undefined}
        overview={overview.data}
        failed={overview.isError}
        collapsed={collapsed}
      />
      <div className={css.nav}>
        {inCluster ? (
          <ClusterNav id={id} overview={overview.data} place={place} collapsed={collapsed} />
        ) : (
          <ClusterNames clusters={clusters} chosen={id} place={place} collapsed={collapsed} />
        )}
      </div>
      {onCollapse && (
        <button
          type="button"
          className={css.collapse}
          onClick={() => onCollapse(!collapsed)}
          aria-label={collapsed ? t('nav.expand') : t('nav.collapse')}
        >
          <Collapse className={css.icon} aria-hidden="true" />
          {!collapsed && t('nav.collapse')}
        </button>
      )}
    </nav>
  );
}

interface SwitcherProps {
  clusters: Cluster[];
  current: Cluster | undefined;
  overview: Overview | undefined;
  failed: boolean;
  collapsed: boolean;
}

function Switcher({ clusters, current, overview, failed, collapsed }: SwitcherProps) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  const go = useGo();
  const color = { '--cluster': clusterColor(current?.settings.color) } as CSSProperties;
  const state = overview
    ? `${t('count.brokers', plural(overview.brokers.length))} · ${overview.product.name}`
    : failed
      ? t('health.down')
      : '…';
  const tone = failed ? 'bad' : overview ? (overview.problems.length > 0 ? 'warn' : 'good') : 'dim';
  const health = failed ? t('health.down') : tone === 'warn' ? t('health.partial') : t('health.up');
  return (
    <Menu position="bottom-start" width="target">
      <Menu.Target>
        <button
          type="button"
          className={css.switch}
          style={color}
          aria-label={
            collapsed ? t('nav.switch', { name: current?.settings.name ?? t('nav.clusters') }) : undefined
          }
        >
          {collapsed ? (
            <IconSelector className={css.icon} aria-hidden="true" />
          ) : (
            <>
              <span className={css.switchName}>
                <span>{current?.settings.name ?? t('nav.clusters')}</span>
                <IconSelector className={css.icon} aria-hidden="true" />
              </span>
              <span className={css.switchState}>
                {current ? (
                  <>
                    <Dot tone={tone} label={health} />
                    <span>{state}</span>
                  </>
                ) : (
                  <span>{t('count.saved', plural(clusters.length))}</span>
                )}
              </span>
            </>
          )}
        </button>
      </Menu.Target>
      <Menu.Dropdown miw="var(--k-field-wide)">
        {clusters.map((cluster) => (
          <Menu.Item
            key={cluster.id}
            onClick={() => go(paths.topics(cluster.id))}
            style={{ borderLeft: `var(--k-mark) solid ${clusterColor(cluster.settings.color)}` }}
          >
            {cluster.settings.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => go(paths.clusters())}>{t('nav.allClusters')}</Menu.Item>
        <Menu.Item onClick={() => go(paths.newCluster())}>{t('clusters.add')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface ItemProps {
  href: string;
  label: string;
  icon: ComponentType<{ className?: string }>;
  count?: number;
  current: boolean;
  collapsed: boolean;
}

function Item({ href, label, icon: Icon, count, current, collapsed }: ItemProps) {
  const { num } = useFormat();
  return (
    <A
      href={href}
      className={css.item}
      aria-current={current ? 'page' : undefined}
      title={collapsed ? label : undefined}
      aria-label={collapsed ? label : undefined}
    >
      <Icon className={css.icon} aria-hidden="true" />
      {!collapsed && <span className={css.itemLabel}>{label}</span>}
      {!collapsed && count !== undefined && <span className={css.count}>{num(count)}</span>}
    </A>
  );
}

interface ClusterNavProps {
  id: string;
  overview: Overview | undefined;
  place: string;
  collapsed: boolean;
}

function ClusterNav({ id, overview, place, collapsed }: ClusterNavProps) {
  const { t } = useTranslation();
  const section = place.split('/clusters/')[1]?.split('/')[1];
  const items = [
    {
      page: 'topics',
      href: paths.topics(id),
      icon: IconStack2,
      label: t('nav.topics'),
      count: overview?.topics,
    },
    {
      page: 'groups',
      href: paths.groups(id),
      icon: IconUsersGroup,
      label: t('nav.groups'),
      count: overview?.groups,
    },
    {
      page: 'brokers',
      href: paths.brokers(id),
      icon: IconServer,
      label: t('nav.brokers'),
      count: overview?.brokers.length,
    },
  ];
  return items.map(({ page, ...item }) => (
    <Item key={page} {...item} current={section === page} collapsed={collapsed} />
  ));
}

interface ClusterNamesProps {
  clusters: Cluster[];
  chosen: string;
  place: string;
  collapsed: boolean;
}

function ClusterNames({ clusters, chosen, place, collapsed }: ClusterNamesProps) {
  const { t } = useTranslation();
  return (
    <>
      {clusters.map((cluster) => (
        <Item
          key={cluster.id}
          href={paths.topics(cluster.id)}
          label={cluster.settings.name}
          icon={IconTopologyStar3}
          current={chosen === cluster.id}
          collapsed={collapsed}
        />
      ))}
      <Item
        href={paths.newCluster()}
        label={t('clusters.add')}
        icon={IconPlus}
        current={place.endsWith('/new-cluster')}
        collapsed={collapsed}
      />
    </>
  );
}
