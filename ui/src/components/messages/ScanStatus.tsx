import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../lib/format';
import { problemText } from '../../lib/problem';
import type { ScanView } from '../../lib/useScan';
import { Dot } from '../values';
import css from './messages.module.css';

interface ScanStatusProps {
  view: ScanView;
  live: boolean;
  /** How many rows the text filter leaves; null without a filter. */
  filtered: number | null;
  onProceed: () => void;
  onPause: (paused: boolean) => void;
  columns: ReactNode;
}

/** One line: how far, how many, why it stopped, how to go on. Its height never changes. */
export function ScanStatus({ view, live, filtered, onProceed, onPause, columns }: ScanStatusProps) {
  const { t, i18n } = useTranslation();
  const { num } = useFormat();
  return (
    <div className={css.status} role="status" data-resumable={view.cursor !== null}>
      {live ? <LiveState view={view} onPause={onPause} /> : <Scanned view={view} />}
      {filtered !== null && (
        <span>{t('scan.matching', { shown: num(filtered), all: num(view.rows.length) })}</span>
      )}
      {view.progress && view.progress.undecodable !== '0' && (
        <span className={css.warn}>{t('scan.undecodable', { n: num(view.progress.undecodable) })}</span>
      )}
      {view.error && view.rows.length > 0 && (
        <span className={css.bad}>{problemText(view.error, t, i18n.language).title}</span>
      )}
      {view.done && <span>{t('scan.stopped', { reason: t(`scan.reason.${view.done.reason}`) })}</span>}
      {!view.running && !view.done && !view.error && <span>{t('scan.stoppedByYou')}</span>}
      {!view.running && view.cursor && (
        <button type="button" className={css.link} onClick={onProceed}>
          {t('scan.continue')}
        </button>
      )}
      <span className={css.statusEnd}>{columns}</span>
    </div>
  );
}

function Scanned({ view }: { view: ScanView }) {
  const { t } = useTranslation();
  const { num, size } = useFormat();
  const { progress } = view;
  if (!progress) return view.running ? <span>{t('scan.starting')}</span> : null;
  const seconds = Number(progress.millis) / 1000; // for a rate, which is an estimate anyway
  const rate = seconds > 0.5 ? Number(progress.bytes) / seconds : null;
  return (
    <>
      <span>
        {progress.total === undefined
          ? t('scan.scanned', { n: num(progress.scanned) })
          : t('scan.scannedOf', { n: num(progress.scanned), total: num(progress.total) })}
      </span>
      {view.running && (
        <span>
          {t('scan.partitions', { done: num(progress.partitionsDone), all: num(progress.partitions) })}
        </span>
      )}
      {view.running && rate !== null && <span>{t('scan.rate', { rate: size(Math.round(rate)) })}</span>}
      <strong>{t('scan.found', { n: num(progress.found) })}</strong>
    </>
  );
}

function LiveState({ view, onPause }: { view: ScanView; onPause: (paused: boolean) => void }) {
  const { t } = useTranslation();
  const { num, plural } = useFormat();
  const waiting = view.running ? (view.progress?.waiting ?? 0) : 0;
  const tone = waiting > 0 ? 'warn' : view.running && !view.paused ? 'good' : 'dim';
  return (
    <>
      <span className={css.live}>
        <Dot tone={tone} label={view.running ? t('scan.live') : t('scan.ended')} />
        {view.running ? (view.paused ? t('scan.paused') : t('scan.live')) : t('scan.ended')}
      </span>
      <strong>{t('scan.arrived', plural(view.rows.length + view.dropped + view.waiting))}</strong>
      {waiting > 0 && <span className={css.warn}>{t('scan.unreadable', plural(waiting))}</span>}
      {view.waiting > 0 && (
        <button type="button" className={css.link} onClick={() => onPause(false)}>
          {t('scan.waiting', plural(view.waiting))}
        </button>
      )}
      {view.dropped > 0 && (
        <span className={css.warn}>{t('scan.droppedFromView', plural(view.dropped))}</span>
      )}
      {view.progress && view.progress.dropped !== '0' && (
        <span className={css.warn}>{t('scan.dropped', { n: num(view.progress.dropped) })}</span>
      )}
    </>
  );
}
