import { Autocomplete, Button, NumberInput, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { refreshCluster, topicsQuery } from '../api/queries';
import type { TopicCreate } from '../api/types';
import { useGo } from '../components/A';
import { Dialog } from '../components/Dialog';
import css from '../components/Form.module.css';
import { IconAction } from '../components/IconAction';
import { Failure } from '../components/State';
import { say } from '../lib/notice';
import { paths } from '../lib/paths';
import { topicConfigNames } from '../lib/topicConfigs';
import { topicNameFault, topicNameTwin } from '../lib/topicName';
import { useName } from '../lib/useCluster';

interface ConfigRow {
  id: number;
  name: string;
  value: string;
}

export function CreateTopic({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const go = useGo();
  const client = useQueryClient();
  const cluster = useName('cluster');
  const others = useQuery(topicsQuery(cluster)).data?.topics ?? [];
  const form = useId();
  const [name, setName] = useState('');
  const [partitions, setPartitions] = useState<number | string>('');
  const [replication, setReplication] = useState<number | string>('');
  const [configs, setConfigs] = useState<ConfigRow[]>([]);
  const [touched, setTouched] = useState(false);

  const fault = topicNameFault(name);
  const exists = others.some((topic) => topic.name === name);
  const twin = topicNameTwin(
    name,
    others.map((topic) => topic.name),
  );
  const create = useMutation({
    mutationFn: (body: TopicCreate) =>
      unwrap(api.POST('/api/v1/clusters/{cluster}/topics', { params: { path: { cluster } }, body })),
    onSuccess: async (made) => {
      await refreshCluster(client, cluster);
      say(t('createTopic.done', { name: made.name }));
      go(paths.topic(cluster, made.name));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTouched(true);
    if (fault || exists) return;
    const chosen = configs.filter((config) => config.name !== '');
    create.mutate({
      name,
      partitions: typeof partitions === 'number' ? partitions : -1,
      replication: typeof replication === 'number' ? replication : -1,
      configs: Object.fromEntries(chosen.map((config) => [config.name, config.value])),
    });
  };
  const change = (id: number, patch: Partial<ConfigRow>) =>
    setConfigs(configs.map((config) => (config.id === id ? { ...config, ...patch } : config)));

  return (
    <Dialog
      title={t('topics.create')}
      onClose={onClose}
      framed
      actions={
        <>
          <Button variant="default" onClick={onClose}>
            {t('action.cancel')}
          </Button>
          <Button type="submit" form={form} loading={create.isPending}>
            {t('createTopic.submit')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={css.form}>
        <TextInput
          data-autofocus
          label={t('topics.name')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={
            (touched || name !== '') && fault
              ? t(`createTopic.fault.${fault}`)
              : exists
                ? t('createTopic.exists')
                : undefined
          }
          description={twin ? t('createTopic.twin', { twin }) : undefined}
          spellCheck={false}
          classNames={{ input: css.mono }}
        />
        <div className={css.pair}>
          <NumberInput
            label={t('topics.partitions')}
            placeholder={t('createTopic.default')}
            min={1}
            allowDecimal={false}
            value={partitions}
            onChange={setPartitions}
          />
          <NumberInput
            label={t('createTopic.replication')}
            placeholder={t('createTopic.default')}
            min={1}
            max={32767}
            allowDecimal={false}
            value={replication}
            onChange={setReplication}
          />
        </div>
        <fieldset className={css.group}>
          <legend>{t('createTopic.configs')}</legend>
          {configs.map((config) => (
            <div key={config.id} className={css.line}>
              <Autocomplete
                size="xs"
                aria-label={t('config.name')}
                placeholder={t('config.name')}
                data={topicConfigNames}
                value={config.name}
                onChange={(value) => change(config.id, { name: value })}
                comboboxProps={{ transitionProps: { duration: 0 } }}
              />
              <TextInput
                aria-label={t('config.value')}
                placeholder={t('config.value')}
                value={config.value}
                onChange={(event) => change(config.id, { value: event.currentTarget.value })}
                classNames={{ input: css.mono }}
              />
              <IconAction
                label={t('action.remove')}
                icon={IconX}
                onClick={() => setConfigs(configs.filter((other) => other.id !== config.id))}
              />
            </div>
          ))}
          <Button
            variant="subtle"
            leftSection={<IconPlus className={css.icon} />}
            onClick={() =>
              setConfigs([...configs, { id: (configs.at(-1)?.id ?? 0) + 1, name: '', value: '' }])
            }
          >
            {t('createTopic.addConfig')}
          </Button>
        </fieldset>
        {create.error && <Failure problem={toProblem(create.error).body} compact />}
      </form>
    </Dialog>
  );
}
