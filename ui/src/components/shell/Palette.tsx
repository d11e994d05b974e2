import { TextInput, useMantineColorScheme } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { clustersQuery, groupsQuery, topicsQuery } from '../../api/queries';
import { chooseLanguage } from '../../i18n';
import { matchWords } from '../../lib/match';
import { paths } from '../../lib/paths';
import { readPref, writePref } from '../../lib/prefs';
import { useName, useReadOnly } from '../../lib/useCluster';
import { useGo } from '../A';
import { Dialog } from '../Dialog';
import css from './Shell.module.css';

interface Entry {
  key: string;
  label: string;
  kind: string;
  run: () => void;
}

const shownAtMost = 60;
const recentAtMost = 8;

function readRecent(): string[] {
  return (readPref('palette') ?? '').split('\n').filter(Boolean);
}

/** Go anywhere, do anything: pages, topics, groups, clusters, actions, what was chosen lately first. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  const entries = useEntries(onHelp);
  const list = useId();
  const results = useMemo(() => {
    const recent = readRecent();
    const found = entries.filter((entry) => matchWords(`${entry.label} ${entry.kind}`, text));
    const rank = (entry: Entry) => {
      const place = recent.indexOf(entry.key);
      return text === '' && place >= 0 ? place : recentAtMost;
    };
    return found.sort((a, b) => rank(a) - rank(b)).slice(0, shownAtMost);
  }, [entries, text]);
  const chosen = Math.min(index, results.length - 1);
  const selected = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen >= 0) selected.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    writePref(
      'palette',
      [entry.key, ...readRecent().filter((key) => key !== entry.key)].slice(0, recentAtMost).join('\n'),
    );
    onClose();
    entry.run();
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setIndex(Math.min(chosen + 1, results.length - 1));
    else if (event.key === 'ArrowUp') setIndex(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter') run(results[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title={t('palette.title')} onClose={onClose}>
      <div className={css.palette}>
        <TextInput
          data-autofocus
          role="combobox"
          aria-label={t('palette.placeholder')}
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
          placeholder={t('palette.placeholder')}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setIndex(0);
          }}
          onKeyDown={keyDown}
        />
        {results.length === 0 ? (
          <output>{t('palette.nothing', { text })}</output>
        ) : (
          <ul className={css.results} id={list} role="listbox" aria-label={t('palette.title')}>
            {results.map((entry, place) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the text field
              <li
                key={entry.key}
                id={`${list}-${place}`}
                ref={place === chosen ? selected : undefined}
                role="option"
                aria-selected={place === chosen}
                className={css.result}
                onClick={() => run(entry)}
                onMouseMove={() => setIndex(place)}
              >
                <span>{entry.label}</span>
                <span className={css.kind}>{entry.kind}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  );
}

function useEntries(onHelp: () => void): Entry[] {
  const { t, i18n } = useTranslation();
  const go = useGo();
  const client = useQueryClient();
  const readOnly = useReadOnly();
  const { setColorScheme } = useMantineColorScheme();
  const id = useName('cluster');
  const clusters = useQuery(clustersQuery()).data?.clusters;
  const topics = useQuery({ ...topicsQuery(id), enabled: id !== '', staleTime: 60_000 }).data?.topics;
  const groups = useQuery({ ...groupsQuery(id), enabled: id !== '', staleTime: 60_000 }).data?.groups;
  return useMemo(() => {
    const page = (label: string, href: string): Entry => ({
      key: `page ${href}`,
      label,
      kind: t('palette.page'),
      run: () => go(href),
    });
    const action = (key: string, label: string, run: () => void): Entry => ({
      key: `action ${key}`,
      label,
      kind: t('palette.action'),
      run,
    });
    const entries: Entry[] = [];
    if (id !== '') {
      entries.push(
        page(t('nav.topics'), paths.topics(id)),
        page(t('nav.groups'), paths.groups(id)),
        page(t('nav.brokers'), paths.brokers(id)),
      );
    }
    entries.push(page(t('nav.clusters'), paths.clusters()), page(t('clusters.add'), paths.newCluster()));
    if (id !== '' && !readOnly) {
      entries.push(action('create', t('topics.create'), () => go(`${paths.topics(id)}?dialog=create`)));
    }
    entries.push(
      action('refresh', t('keys.refresh'), () => client.invalidateQueries()),
      action('light', t('theme.light'), () => setColorScheme('light')),
      action('dark', t('theme.dark'), () => setColorScheme('dark')),
      action('language', i18n.language === 'ru' ? t('language.en') : t('language.ru'), () =>
        chooseLanguage(i18n.language === 'ru' ? 'en' : 'ru'),
      ),
      action('keys', t('keys.title'), onHelp),
    );
    for (const cluster of clusters ?? []) {
      const href = paths.topics(cluster.id);
      entries.push({
        key: `cluster ${cluster.id}`,
        label: cluster.settings.name,
        kind: t('palette.cluster'),
        run: () => go(href),
      });
    }
    for (const topic of topics ?? []) {
      const href = paths.topic(id, topic.name);
      entries.push({
        key: `topic ${href}`,
        label: topic.name,
        kind: t('palette.topic'),
        run: () => go(href),
      });
    }
    for (const group of groups ?? []) {
      const href = paths.group(id, group.group);
      entries.push({
        key: `group ${href}`,
        label: group.group,
        kind: t('palette.group'),
        run: () => go(href),
      });
    }
    return entries;
  }, [t, i18n.language, go, client, id, readOnly, clusters, topics, groups, setColorScheme, onHelp]);
}
