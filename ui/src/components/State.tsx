import { Button, Skeleton } from '@mantine/core';
import { IconAlertTriangle, IconBan, IconInbox, IconLock } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toProblem } from '../api/client';
import type { ProblemBody } from '../api/types';
import { copyText } from '../lib/clipboard';
import { problemText } from '../lib/problem';
import css from './State.module.css';

const patience = 150; // ms before a skeleton is worth showing

const bones = Array.from({ length: 24 }, (_, index) => index);

/** Lines where the content will be, once waiting is worth showing. */
export function Loading({ rows = 8 }: { rows?: number }) {
  const { t } = useTranslation();
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patience);
    return () => clearTimeout(timer);
  }, []);
  return (
    <output className={css.loading} aria-live="polite" aria-label={t('state.loading')}>
      {late && bones.slice(0, rows).map((bone) => <Skeleton key={bone} className={css.bone} />)}
    </output>
  );
}

interface EmptyProps {
  title: string;
  /** Why there is nothing. */
  reason?: ReactNode;
  /** What to do next. */
  children?: ReactNode;
}

/** Nothing to show: why, and what to do next. */
export function Empty({ title, reason, children }: EmptyProps) {
  return (
    <div className={css.state}>
      <IconInbox className={css.icon} aria-hidden="true" />
      <h2 className={css.title}>{title}</h2>
      {reason && <p className={css.reason}>{reason}</p>}
      {children && <div className={css.next}>{children}</div>}
    </div>
  );
}

interface FailureProps {
  problem: ProblemBody;
  onRetry?: () => void;
  compact?: boolean;
}

/** A call that failed: forbidden, not offered by the cluster, or an error. */
export function Failure({ problem, onRetry, compact }: FailureProps) {
  const { t, i18n } = useTranslation();
  const text = problemText(problem, t, i18n.language);
  const Icon =
    text.kind === 'forbidden' ? IconLock : text.kind === 'unsupported' ? IconBan : IconAlertTriangle;
  return (
    <div className={css.state} role="alert" data-kind={text.kind} data-compact={compact || undefined}>
      <Icon className={css.icon} aria-hidden="true" />
      <h2 className={css.title}>{text.title}</h2>
      {text.subject && <p className={css.subject}>{text.subject}</p>}
      {problem.detail && problem.detail !== text.title && <p className={css.detail}>{problem.detail}</p>}
      {text.help && <p className={css.reason}>{text.help}</p>}
      <div className={css.next}>
        {onRetry && <Button onClick={onRetry}>{t('state.retry')}</Button>}
        <Button
          variant="default"
          onClick={() => copyText(JSON.stringify(problem, null, 2), t('keys.copied'))}
        >
          {t('state.copyDetails')}
        </Button>
        <span className={css.code}>{problem.code}</span>
      </div>
    </div>
  );
}

/** A line above an answer that is only partly there: names every part that is missing, each once. */
export function Partial({ problems }: { problems: readonly ProblemBody[] | undefined }) {
  const { t, i18n } = useTranslation();
  const [open, setOpen] = useState(false);
  const lines = new Map<string, { text: string; help: string; detail: string | undefined }>();
  for (const problem of problems ?? []) {
    const { title, subject, help } = problemText(problem, t, i18n.language);
    const text = [subject, title].filter(Boolean).join(': ');
    if (!lines.has(text)) lines.set(text, { text, help, detail: problem.detail });
  }
  if (lines.size === 0) return null;
  const shown = [...lines.values()].slice(0, open ? lines.size : 1);
  return (
    <output className={css.partial}>
      <IconAlertTriangle className={css.partialIcon} aria-hidden="true" />
      <div className={css.partialList}>
        {shown.map(({ text, help, detail }) => (
          <p key={text} title={detail}>
            {text}
            {help && <span className={css.partialHelp}> {help}</span>}
          </p>
        ))}
      </div>
      {lines.size > 1 && (
        <button type="button" className={css.more} onClick={() => setOpen(!open)}>
          {open ? t('state.fewer') : t('state.more', { count: lines.size - 1 })}
        </button>
      )}
    </output>
  );
}

interface QueryStateProps<T> {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  rows?: number;
}

/** A query in whatever state it is; data that is there stays on the page while a later call fails. */
export function QueryState<T>({ query, children, rows }: QueryStateProps<T>) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error && <Partial problems={[toProblem(query.error).body]} />}
        {children(query.data)}
      </>
    );
  }
  if (query.error) return <Failure problem={toProblem(query.error).body} onRetry={() => query.refetch()} />;
  return <Loading rows={rows} />;
}
