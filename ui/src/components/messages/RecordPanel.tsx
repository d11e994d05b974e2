import { Button, Menu, Tabs } from '@mantine/core';
import {
  IconChevronDown,
  IconChevronLeft,
  IconChevronRight,
  IconCopy,
  IconDownload,
  IconX,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { toProblem } from '../../api/client';
import { bytesURL, type Part, readBytes } from '../../api/content';
import { recordQuery } from '../../api/queries';
import type { Content, RecordDetail } from '../../api/types';
import { fromUTF8, toHex } from '../../lib/bytes';
import { copyText } from '../../lib/clipboard';
import { useFormat } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { say } from '../../lib/notice';
import { usePref } from '../../lib/prefs';
import { problemText } from '../../lib/problem';
import type { RecordPosition } from '../../lib/search';
import { tokenPixels } from '../../lib/tokens';
import { useCluster } from '../../lib/useCluster';
import { useNarrow } from '../../lib/useNarrow';
import { useSearch } from '../../lib/useSearch';
import { IconAction } from '../IconAction';
import { Failure, Loading } from '../State';
import { ContentView } from './ContentView';
import css from './messages.module.css';
import { HeadersTab, MetadataTab, ReportTab } from './RecordTabs';

interface RecordPanelProps {
  cluster: string;
  topic: string;
  position: RecordPosition;
  onClose: () => void;
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
}

const tabs = ['value', 'key', 'headers', 'metadata', 'hex', 'report'] as const;
type RecordTab = (typeof tabs)[number];

/** One record in full, at the right of the table. Its width is remembered. */
export function RecordPanel({ cluster, topic, position, onClose, onPrevious, onNext }: RecordPanelProps) {
  const { t } = useTranslation();
  const { num } = useFormat();
  const [search, setSearch] = useSearch();
  const [width, setWidth] = usePref('panel', '');
  const narrow = useNarrow();
  const panel = useRef<HTMLElement>(null);
  const query = useQuery(recordQuery(cluster, topic, position.partition, position.offset));
  const tab = tabs.find((name) => name === search.view) ?? 'value';
  const part: Part = { cluster, topic, ...position, part: 'value' };

  const drag = (event: PointerEvent<HTMLHRElement>) => {
    const right = panel.current?.getBoundingClientRect().right;
    if (right === undefined) return;
    event.preventDefault();
    const grip = event.currentTarget;
    grip.setPointerCapture(event.pointerId);
    grip.onpointermove = (move) =>
      setWidth(`${Math.max(tokenPixels('--k-panel-min'), right - move.clientX)}`);
    grip.onpointerup = () => {
      grip.onpointermove = null;
    };
  };
  const nudge = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowLeft' ? 1 : event.key === 'ArrowRight' ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const current = panel.current?.offsetWidth ?? 0;
    setWidth(`${Math.max(tokenPixels('--k-panel-min'), current + by * tokenPixels('--k-5'))}`);
  };

  return (
    <aside
      ref={panel}
      className={css.panel}
      data-narrow={narrow || undefined}
      style={{ width: width === '' ? 'var(--k-panel)' : `${width}px` }}
      aria-label={t('record.label')}
    >
      <hr
        className={css.grip}
        aria-orientation="vertical"
        aria-label={t('record.resize')}
        aria-valuenow={Number(width) || 0}
        tabIndex={0}
        onPointerDown={drag}
        onKeyDown={nudge}
        onDoubleClick={() => setWidth('')}
      />
      <header className={css.panelHead}>
        <h2 className={css.place} title={topic}>
          {topic} · {position.partition} @ {num(position.offset)}
        </h2>
        <IconAction
          label={t('record.previous')}
          icon={IconChevronLeft}
          onClick={() => onPrevious?.()}
          disabled={!onPrevious}
        />
        <IconAction
          label={t('record.next')}
          icon={IconChevronRight}
          onClick={() => onNext?.()}
          disabled={!onNext}
        />
        <IconAction label={t('action.close')} icon={IconX} onClick={onClose} />
      </header>
      {query.data ? (
        <RecordBody
          record={query.data}
          part={part}
          tab={tab}
          onTab={(next) => setSearch({ view: next === 'value' ? '' : next })}
        />
      ) : query.error ? (
        <Failure problem={toProblem(query.error).body} onRetry={() => query.refetch()} />
      ) : (
        <Loading />
      )}
    </aside>
  );
}

interface RecordBodyProps {
  record: RecordDetail;
  part: Part;
  tab: RecordTab;
  onTab: (tab: RecordTab) => void;
}

function RecordBody({ record, part, tab, onTab }: RecordBodyProps) {
  const { t } = useTranslation();
  const key: Part = { ...part, part: 'key' };
  const body = {
    value: <ContentView part={part} content={record.value} label={t('record.value')} />,
    key: <ContentView part={key} content={record.key} label={t('record.key')} />,
    headers: <HeadersTab record={record} />,
    metadata: <MetadataTab record={record} />,
    hex: <ContentView part={part} content={record.value} view="hex" label={t('record.hex')} />,
    report: <ReportTab record={record} />,
  }[tab];
  return (
    <>
      <Tabs
        value={tab}
        onChange={(value) => onTab(tabs.find((name) => name === value) ?? 'value')}
        classNames={{ root: css.panelTabs, list: css.panelList, tab: css.panelTab }}
      >
        <Tabs.List>
          {tabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`record.${name}`)}
              {name === 'headers' && <span className={css.count}> {record.headerCount}</span>}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <div className={css.panelBody}>{body}</div>
      <PanelFoot record={record} part={part} tab={tab} />
    </>
  );
}

/** The exact text of a part, whole: what is not there yet is fetched. Bytes that are no text come as hex. */
async function wholeText(part: Part, content: Content): Promise<string> {
  if (content.text && content.text.next === undefined) return content.text.data;
  const bytes = await readBytes(part);
  return fromUTF8(bytes) ?? toHex(bytes);
}

function PanelFoot({ record, part, tab }: { record: RecordDetail; part: Part; tab: RecordTab }) {
  const { t, i18n } = useTranslation();
  const cluster = useCluster();
  const key: Part = { ...part, part: 'key' };
  const shown: Part = tab === 'key' ? key : part;
  const content = tab === 'key' ? record.key : record.value;
  const copyPart = (from: Part, what: Content) =>
    wholeText(from, what).then(
      (text) => copyText(text, t('keys.copied')),
      (error: unknown) => say(problemText(toProblem(error).body, t, i18n.language).title),
    );
  const canSave = content.kind !== 'null';
  const save = () => {
    if (!canSave) return;
    const link = document.createElement('a');
    link.href = bytesURL(shown);
    link.download = '';
    link.click();
  };
  useKeys({ c: () => copyPart(shown, content), s: save });
  const address = cluster?.settings.bootstrap.join(',') ?? '';
  const kcat = `kcat -C -b ${address} -t ${part.topic} -p ${part.partition} -o ${part.offset} -c 1`;
  return (
    <footer className={css.panelFoot}>
      <Menu position="top-start">
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconCopy className={css.icon} />}
            rightSection={<IconChevronDown className={css.icon} />}
          >
            {t('action.copy')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => copyPart(part, record.value)} disabled={record.value.kind === 'null'}>
            {t('record.copyValue')}
          </Menu.Item>
          {record.value.pretty && record.value.pretty.next === undefined && (
            <Menu.Item onClick={() => copyText(record.value.pretty?.data ?? '', t('keys.copied'))}>
              {t('record.copyPretty')}
            </Menu.Item>
          )}
          <Menu.Item onClick={() => copyPart(key, record.key)} disabled={record.key.kind === 'null'}>
            {t('record.copyKey')}
          </Menu.Item>
          <Menu.Item
            onClick={() => copyText(`${part.topic}-${part.partition}@${part.offset}`, t('keys.copied'))}
          >
            {t('record.copyPlace')}
          </Menu.Item>
          <Menu.Item onClick={() => copyText(kcat, t('keys.copied'))}>{t('record.copyKcat')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Button
        variant="default"
        leftSection={<IconDownload className={css.icon} />}
        onClick={save}
        disabled={!canSave}
        title={canSave ? undefined : t('record.nothingToSave')}
      >
        {t('record.save')}
      </Button>
    </footer>
  );
}
