import { IconAlertCircle, IconCircleCheck, IconCircleDashed, IconCircleX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ProblemBody, Rung, TestReport } from '../api/types';
import { useFormat } from '../lib/format';
import { useServerWords } from '../lib/serverWords';
import { CopyButton } from './CopyButton';
import css from './Ladder.module.css';
import { Empty, Failure, Loading } from './State';

interface LadderProps {
  report: TestReport | undefined;
  error: ProblemBody | undefined;
  running: boolean;
  ready: boolean;
}

const icons = {
  ok: IconCircleCheck,
  warning: IconAlertCircle,
  failed: IconCircleX,
  skipped: IconCircleDashed,
};

/** What a test of a connection found, rung by rung: how long it took, what was there, what to do. */
export function Ladder({ report, error, running, ready }: LadderProps) {
  const { t } = useTranslation();
  const { num, plural } = useFormat();
  if (running) return <Loading rows={7} />;
  if (error) return <Failure problem={error} />;
  if (!report) {
    return (
      <div className={css.rungs}>
        <Empty title={t('ladder.none')} reason={ready ? t('ladder.noneReason') : t('ladder.noAddress')} />
      </div>
    );
  }
  const text = report.rungs
    .map(
      (rung) =>
        `${rung.state}\t${rung.step}\t${rung.target}\t${rung.millis} ms\t${rung.text}\t${rung.help ?? ''}`,
    )
    .join('\n');
  return (
    <>
      <header className={css.head}>
        <h2 className={css.title}>{t('ladder.title')}</h2>
        <span className={css.summary}>
          {t('ladder.rungs', plural(report.rungs.length))} · {t('health.millis', { n: num(report.millis) })}
        </span>
        <CopyButton text={text} label={t('ladder.copy')} />
      </header>
      {report.ignored && report.ignored.length > 0 && (
        <p className={css.ignored}>{t('ladder.ignored', { names: report.ignored.join(', ') })}</p>
      )}
      <ol className={css.rungs}>
        {report.rungs.map((rung) => (
          <Step key={`${rung.step} ${rung.target}`} rung={rung} />
        ))}
      </ol>
    </>
  );
}

function Step({ rung }: { rung: Rung }) {
  const { t } = useTranslation();
  const { num } = useFormat();
  const words = useServerWords();
  const Icon = icons[rung.state];
  return (
    <li className={css.rung} data-state={rung.state}>
      <Icon className={css.icon} aria-label={t(`ladder.state.${rung.state}`)} role="img" />
      <span className={css.step}>{t(`ladder.step.${rung.step}`)}</span>
      <span className={css.millis}>
        {rung.state === 'skipped' ? '' : t('health.millis', { n: num(rung.millis) })}
      </span>
      <div className={css.words}>
        <p>{words(rung.text)}</p>
        {rung.help && <p className={css.help}>{words(rung.help)}</p>}
      </div>
    </li>
  );
}
