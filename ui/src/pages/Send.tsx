import { Button, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { topicQuery } from '../api/queries';
import type { Payload, SendRequest, SendResult } from '../api/types';
import { A } from '../components/A';
import { Dialog } from '../components/Dialog';
import css from '../components/Form.module.css';
import { IconAction } from '../components/IconAction';
import { PayloadField } from '../components/PayloadField';
import { Failure } from '../components/State';
import { useFormat } from '../lib/format';
import { partitionFor } from '../lib/partitioner';
import { paths } from '../lib/paths';
import { type PayloadKind, payloadBytes, payloadKinds } from '../lib/payload';
import { formatRecord, stringifySearch } from '../lib/search';
import sendCss from './Send.module.css';

interface HeaderRow {
  id: number;
  key: string;
  value: Payload;
}

interface Draft {
  key: Payload;
  value: Payload;
  headers: HeaderRow[];
  partition: string; // empty: by key
  compression: NonNullable<SendRequest['compression']>;
}

const blank: Draft = {
  key: { kind: 'text', data: '' },
  value: { kind: 'json', data: '' },
  headers: [],
  partition: '',
  compression: 'none',
};

// What was sent last per topic, for as long as the page is open: it may be secret, so it is not stored.
const drafts = new Map<string, Draft>();

interface SendProps {
  cluster: string;
  topic: string;
  onClose: () => void;
}

/** Sends one record, and says where it went. It stays open for the next one. */
export function Send({ cluster, topic, onClose }: SendProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const form = useId();
  const memory = `${cluster}\n${topic}`;
  const [draft, setDraft] = useState<Draft>(
    () => drafts.get(memory) ?? { ...blank, key: { kind: 'null', data: '' } },
  );
  const partitions = useQuery(topicQuery(cluster, topic)).data?.partitions.length;
  const change = (patch: Partial<Draft>) => setDraft({ ...draft, ...patch });
  const payloads = [draft.key, draft.value, ...draft.headers.map((header) => header.value)];
  const wrong = payloads.some((payload) => typeof payloadBytes(payload) === 'string');

  const send = useMutation({
    mutationFn: (body: SendRequest) =>
      unwrap(
        api.POST('/api/v1/clusters/{cluster}/topics/{topic}/records', {
          params: { path: { cluster, topic } },
          body,
        }),
      ),
    onSuccess: () => {
      drafts.set(memory, draft);
      client.invalidateQueries({ queryKey: ['cluster', cluster, 'topic', topic], exact: true });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong) return;
    send.mutate({
      key: bare(draft.key),
      value: bare(draft.value),
      headers: draft.headers.map((header) => ({ key: header.key, value: bare(header.value) })),
      ...(draft.partition === '' ? {} : { partition: Number(draft.partition) }),
      compression: draft.compression,
    });
  };

  return (
    <Dialog
      title={t('send.title', { topic })}
      onClose={onClose}
      framed
      actions={
        <>
          <Button variant="default" onClick={onClose}>
            {t('action.close')}
          </Button>
          <Button type="submit" form={form} loading={send.isPending} disabled={wrong}>
            {t('send.submit')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={css.form}>
        <PayloadField
          label={t('message.key')}
          payload={draft.key}
          onChange={(key) => change({ key })}
          rows={2}
        />
        <PayloadField
          label={t('message.value')}
          payload={draft.value}
          onChange={(value) => change({ value })}
          rows={7}
          autoFocus
        />
        <HeaderFields headers={draft.headers} onChange={(headers) => change({ headers })} />
        <div className={css.pair}>
          <Select
            label={t('partition.id')}
            data={[
              { value: '', label: t('send.byKey') },
              ...Array.from({ length: partitions ?? 0 }, (_, index) => ({
                value: `${index}`,
                label: `${index}`,
              })),
            ]}
            value={draft.partition}
            onChange={(value) => change({ partition: value ?? '' })}
            searchable={(partitions ?? 0) > 10}
            description={<Target draft={draft} partitions={partitions} />}
          />
          <Select
            label={t('message.compression')}
            data={['none', 'gzip', 'snappy', 'lz4', 'zstd']}
            value={draft.compression}
            onChange={(value) => change({ compression: (value ?? 'none') as Draft['compression'] })}
            description={t('send.compressionHint')}
          />
        </div>
        {send.data && !send.isPending && <Sent result={send.data} cluster={cluster} topic={topic} />}
        {send.error && <Failure problem={toProblem(send.error).body} compact />}
      </form>
    </Dialog>
  );
}

function bare(payload: Payload): Payload {
  return payload.kind === 'null' ? { kind: 'null' } : { kind: payload.kind, data: payload.data ?? '' };
}

function Target({ draft, partitions }: { draft: Draft; partitions: number | undefined }) {
  const { t } = useTranslation();
  if (draft.partition !== '') return t('send.fixed');
  const key = payloadBytes(draft.key);
  if (typeof key === 'string' || partitions === undefined) return t('send.unknown');
  const target = partitionFor(key, partitions);
  return target === null ? t('send.any') : t('send.target', { partition: target });
}

function Sent({ result, cluster, topic }: { result: SendResult; cluster: string; topic: string }) {
  const { t } = useTranslation();
  const { num } = useFormat();
  if (result.partition === undefined || result.offset === undefined) return null;
  const record = formatRecord({ partition: result.partition, offset: result.offset });
  const href = `${paths.topic(cluster, topic)}${stringifySearch({ from: `offset:${result.offset}`, partitions: result.partition, record })}`;
  return (
    <output className={sendCss.sent}>
      {t('send.done', { partition: result.partition })}{' '}
      <A href={href}>{t('send.doneOffset', { offset: num(result.offset) })}</A> ·{' '}
      {t('send.took', { ms: num(result.millis) })}
    </output>
  );
}

interface HeaderFieldsProps {
  headers: HeaderRow[];
  onChange: (headers: HeaderRow[]) => void;
}

function HeaderFields({ headers, onChange }: HeaderFieldsProps) {
  const { t } = useTranslation();
  const change = (id: number, patch: Partial<HeaderRow>) =>
    onChange(headers.map((header) => (header.id === id ? { ...header, ...patch } : header)));
  return (
    <fieldset className={css.group}>
      <legend>{t('message.headers')}</legend>
      {headers.map((header) => {
        const fault = payloadBytes(header.value);
        return (
          <div key={header.id} className={sendCss.header}>
            <TextInput
              aria-label={t('record.headerName')}
              placeholder={t('record.headerName')}
              classNames={{ input: css.mono }}
              value={header.key}
              onChange={(event) => change(header.id, { key: event.currentTarget.value })}
            />
            <Select
              aria-label={t('payload.kindOf', { part: t('record.headerValue') })}
              data={payloadKinds.map((value) => ({ value, label: t(`payload.kind.${value}`) }))}
              value={header.value.kind}
              onChange={(kind) =>
                change(header.id, { value: { ...header.value, kind: kind as PayloadKind } })
              }
            />
            <TextInput
              aria-label={t('record.headerValue')}
              placeholder={header.value.kind === 'null' ? 'null' : t('record.headerValue')}
              classNames={{ input: css.mono }}
              disabled={header.value.kind === 'null'}
              value={header.value.kind === 'null' ? '' : (header.value.data ?? '')}
              error={typeof fault === 'string' && header.value.data ? t(`payload.fault.${fault}`) : undefined}
              onChange={(event) =>
                change(header.id, { value: { ...header.value, data: event.currentTarget.value } })
              }
            />
            <IconAction
              label={t('action.remove')}
              icon={IconX}
              onClick={() => onChange(headers.filter((other) => other.id !== header.id))}
            />
          </div>
        );
      })}
      <Button
        variant="subtle"
        leftSection={<IconPlus className={css.icon} />}
        onClick={() =>
          onChange([
            ...headers,
            { id: (headers.at(-1)?.id ?? 0) + 1, key: '', value: { kind: 'text', data: '' } },
          ])
        }
      >
        {t('send.addHeader')}
      </Button>
    </fieldset>
  );
}
