import { Button, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { impactQuery, refreshCluster } from '../api/queries';
import { useGo } from '../components/A';
import { Dialog } from '../components/Dialog';
import css from '../components/Form.module.css';
import { Failure, Partial, QueryState } from '../components/State';
import { Estimate, Moment, Size, Unknown } from '../components/values';
import { useFormat } from '../lib/format';
import { say } from '../lib/notice';
import { paths } from '../lib/paths';
import { useCluster, useName } from '../lib/useCluster';

interface DeleteTopicProps {
  topic: string;
  onClose: () => void;
}

/** Says what goes, then asks for the topic's name, unless the cluster's own rule is milder. */
export function DeleteTopic({ topic, onClose }: DeleteTopicProps) {
  const { t } = useTranslation();
  const { num } = useFormat();
  const go = useGo();
  const client = useQueryClient();
  const cluster = useName('cluster');
  const typed = (useCluster()?.settings.confirmation ?? 'type') === 'type';
  const form = useId();
  const [name, setName] = useState('');
  const impact = useQuery(impactQuery(cluster, topic));
  const remove = useMutation({
    mutationFn: () =>
      unwrap(
        api.DELETE('/api/v1/clusters/{cluster}/topics/{topic}', { params: { path: { cluster, topic } } }),
      ),
    onSuccess: async () => {
      say(t('deleteTopic.done', { name: topic }));
      go(paths.topics(cluster));
      client.removeQueries({ queryKey: ['cluster', cluster, 'topic', topic] });
      await refreshCluster(client, cluster);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!typed || name === topic) remove.mutate();
  };
  return (
    <Dialog
      title={t('deleteTopic.title', { name: topic })}
      onClose={onClose}
      framed
      small
      actions={
        <>
          <Button variant="default" onClick={onClose}>
            {t('action.cancel')}
          </Button>
          <Button
            color="bad"
            type="submit"
            form={form}
            disabled={typed && name !== topic}
            loading={remove.isPending}
          >
            {t('deleteTopic.submit')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={css.form}>
        <p className={css.hint}>{t('deleteTopic.warning')}</p>
        <QueryState query={impact} rows={4}>
          {(data) => (
            <>
              <Partial problems={data.problems} />
              <dl className={css.facts}>
                <dt>{t('topics.partitions')}</dt>
                <dd>{num(data.partitions)}</dd>
                <dt>{t('topics.records')}</dt>
                <dd>
                  {data.records === undefined ? (
                    <Unknown reason={t('unknown.offsets')} />
                  ) : (
                    <Estimate value={data.records} reason={t('topics.recordsHint')} />
                  )}
                </dd>
                <dt>{t('topics.size')}</dt>
                <dd>
                  {data.bytes === undefined ? (
                    <Unknown reason={t('unknown.logDirs')} />
                  ) : (
                    <Size bytes={data.bytes} />
                  )}
                </dd>
                <dt>{t('topic.lastRecord')}</dt>
                <dd>
                  {data.lastTimestamp === undefined ? (
                    <Unknown reason={t('unknown.lastRecord')} />
                  ) : (
                    <Moment epoch={data.lastTimestamp} />
                  )}
                </dd>
                <dt>{t('deleteTopic.groups')}</dt>
                <dd>{data.groups.length === 0 ? t('deleteTopic.noGroups') : data.groups.join(', ')}</dd>
              </dl>
            </>
          )}
        </QueryState>
        {typed && (
          <TextInput
            data-autofocus
            label={t('deleteTopic.typeName', { name: topic })}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            classNames={{ input: css.mono }}
            spellCheck={false}
            autoComplete="off"
          />
        )}
        {remove.error && <Failure problem={toProblem(remove.error).body} compact />}
      </form>
    </Dialog>
  );
}
