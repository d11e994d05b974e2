import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../lib/format';
import css from './values.module.css';

/** A value nobody knows: a dash, with the reason on hover. */
export function Unknown({ reason }: { reason: string }) {
  return (
    <Tooltip label={reason}>
      <span className={css.unknown} role="img" aria-label={reason}>
        –
      </span>
    </Tooltip>
  );
}

/** An integer with all its digits. */
export function Num({ value }: { value: string | number }) {
  const { num } = useFormat();
  return <span className={css.mono}>{num(value)}</span>;
}

/** An estimate: "~" in front, and why on hover. */
export function Estimate({ value, reason }: { value: string; reason: string }) {
  const { num } = useFormat();
  return (
    <Tooltip label={reason}>
      <span className={css.mono}>~{num(value)}</span>
    </Tooltip>
  );
}

/** Bytes as a size, the exact count on hover. */
export function Size({ bytes }: { bytes: string }) {
  const { t } = useTranslation();
  const { size, plural } = useFormat();
  return (
    <span className={css.mono} title={t('count.bytes', plural(bytes))}>
      {size(bytes)}
    </span>
  );
}

/** A moment with its zone on hover. */
export function Moment({ epoch }: { epoch: string }) {
  const { time, iso, zoneName } = useFormat();
  return (
    <span className={css.mono} title={`${iso(epoch)} · ${zoneName} · ${epoch}`}>
      {time(epoch)}
    </span>
  );
}

type Tone = 'good' | 'warn' | 'bad' | 'dim' | 'accent';

/** A small framed word. */
export function Tag({ tone = 'dim', children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={css.tag} data-tone={tone} title={title}>
      {children}
    </span>
  );
}

/** A coloured dot with words for those who cannot see colour. */
export function Dot({ tone, label }: { tone: Tone; label: string }) {
  return <span className={css.dot} data-tone={tone} role="img" aria-label={label} title={label} />;
}

/** A key on the keyboard. */
export function Key({ children }: { children: ReactNode }) {
  return <kbd className={css.key}>{children}</kbd>;
}
