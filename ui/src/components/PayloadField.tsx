import { SegmentedControl, Textarea } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { Payload } from '../api/types';
import { useFormat } from '../lib/format';
import { type PayloadKind, payloadBytes, payloadKinds } from '../lib/payload';
import css from './Form.module.css';

interface PayloadFieldProps {
  label: string;
  payload: Payload;
  onChange: (payload: Payload) => void;
  rows: number;
  autoFocus?: boolean;
}

/** A key or value to send: its kind, its text, and how many bytes that makes. Null is a kind of its own. */
export function PayloadField({ label, payload, onChange, rows, autoFocus }: PayloadFieldProps) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  const id = useId();
  const bytes = payloadBytes(payload);
  const fault = typeof bytes === 'string' ? bytes : null;
  const size =
    bytes === null
      ? t('payload.null')
      : typeof bytes === 'string'
        ? ''
        : bytes.length === 0
          ? t('payload.empty')
          : t('count.bytes', plural(bytes.length));
  return (
    <div className={css.payload}>
      <div className={css.labelRow}>
        <label className={css.label} htmlFor={id}>
          {label}
        </label>
        <SegmentedControl
          aria-label={t('payload.kindOf', { part: label })}
          value={payload.kind}
          onChange={(kind) => onChange({ ...payload, kind: kind as PayloadKind })}
          data={payloadKinds.map((value) => ({ value, label: t(`payload.kind.${value}`) }))}
        />
      </div>
      <Textarea
        id={id}
        rows={rows}
        classNames={{ root: css.mono, input: css.mono }}
        value={payload.kind === 'null' ? '' : (payload.data ?? '')}
        disabled={payload.kind === 'null'}
        placeholder={payload.kind === 'null' ? 'null' : undefined}
        error={fault && payload.data ? t(`payload.fault.${fault}`) : undefined}
        onChange={(event) => onChange({ ...payload, data: event.currentTarget.value })}
        spellCheck={false}
        data-autofocus={autoFocus || undefined}
      />
      <p className={css.hint}>{fault && !payload.data ? t(`payload.fault.${fault}`) : size}</p>
    </div>
  );
}
