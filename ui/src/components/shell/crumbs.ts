import { useRouterState } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { paths } from '../../lib/paths';
import { useCluster, useName } from '../../lib/useCluster';

export interface Crumb {
  label: string;
  href: string;
}

/** The way to the page in the address, cluster first. */
export function useCrumbs(): Crumb[] {
  const { t } = useTranslation();
  const place = useRouterState({ select: (state) => state.location.pathname });
  const id = useName('cluster');
  const topic = useName('topic');
  const group = useName('group');
  const name = useCluster()?.settings.name ?? id;
  return useMemo(() => {
    const parts = place.split('/').filter(Boolean);
    if (parts.includes('new-cluster')) {
      return [
        { label: t('nav.clusters'), href: paths.clusters() },
        { label: t('clusters.add'), href: paths.newCluster() },
      ];
    }
    if (id === '') return [{ label: t('nav.clusters'), href: paths.clusters() }];
    if (place.endsWith('/edit')) {
      return [
        { label: t('nav.clusters'), href: paths.clusters() },
        { label: name, href: paths.editCluster(id) },
      ];
    }
    const crumbs: Crumb[] = [{ label: name, href: paths.topics(id) }];
    if (group !== '' || place.endsWith('/groups'))
      crumbs.push({ label: t('nav.groups'), href: paths.groups(id) });
    else if (place.endsWith('/brokers')) crumbs.push({ label: t('nav.brokers'), href: paths.brokers(id) });
    else crumbs.push({ label: t('nav.topics'), href: paths.topics(id) });
    if (topic !== '') crumbs.push({ label: topic, href: paths.topic(id, topic) });
    if (group !== '') crumbs.push({ label: group, href: paths.group(id, group) });
    return crumbs;
  }, [place, id, topic, group, name, t]);
}
