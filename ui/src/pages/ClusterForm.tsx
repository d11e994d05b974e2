import { Button, Checkbox, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, toProblem, unwrap } from '../api/client';
import { clustersQuery } from '../api/queries';
import type { Cluster, ClusterSettings } from '../api/types';
import { useGo } from '../components/A';
import { ColorField } from '../components/ColorField';
import { Dialog } from '../components/Dialog';
import css from '../components/Form.module.css';
import { Ladder } from '../components/Ladder';
import { Page } from '../components/Page';
import { Empty, Failure, QueryState } from '../components/State';
import { say } from '../lib/notice';
import { paths } from '../lib/paths';
import { formatProperties, parseProperties } from '../lib/properties';
import { useName } from '../lib/useCluster';
import pageCss from './ClusterForm.module.css';

interface Fields {
  name: string;
  addresses: string;
  properties: string;
  color: string;
  readOnly: boolean;
  confirmation: NonNullable<ClusterSettings['confirmation']>;
}

function fieldsOf(cluster: Cluster | undefined): Fields {
  const settings = cluster?.settings;
  return {
    name: settings?.name ?? '',
    addresses: settings?.bootstrap.join('\n') ?? '',
    properties: formatProperties(settings?.properties ?? {}),
    color: settings?.color ?? 'blue',
    readOnly: settings?.readOnly ?? false,
    confirmation: settings?.confirmation ?? 'type',
  };
}

/** bootstrap.servers among the properties counts as addresses: a pasted client.properties is enough. */
function settingsOf(fields: Fields): ClusterSettings {
  const { 'bootstrap.servers': servers, ...properties } = parseProperties(fields.properties);
  const bootstrap = [fields.addresses, servers ?? '']
    .join(',')
    .split(/[\s,;]+/)
    .filter(Boolean);
  return {
    name: fields.name.trim() || (bootstrap[0] ?? ''),
    bootstrap: [...new Set(bootstrap)],
    properties,
    color: fields.color,
    readOnly: fields.readOnly,
    confirmation: fields.confirmation,
  };
}

export function ClusterFormPage() {
  const { t } = useTranslation();
  const id = useName('cluster');
  const query = useQuery(clustersQuery());
  return (
    <QueryState query={query}>
      {({ clusters }) => {
        const cluster = clusters.find((one) => one.id === id);
        if (id !== '' && !cluster) return <Empty title={t('problems.UNKNOWN_CLUSTER')} />;
        return <ClusterForm key={id} cluster={cluster} />;
      }}
    </QueryState>
  );
}

function ClusterForm({ cluster }: { cluster: Cluster | undefined }) {
  const { t } = useTranslation();
  const go = useGo();
  const client = useQueryClient();
  const [fields, setFields] = useState(() => fieldsOf(cluster));
  const [asking, setAsking] = useState(false);
  const change = (patch: Partial<Fields>) => setFields({ ...fields, ...patch });
  const settings = settingsOf(fields);
  const ready = settings.bootstrap.length > 0;
  const tested = JSON.stringify([settings.bootstrap, settings.properties]);
  const untouched =
    cluster !== undefined &&
    tested === JSON.stringify([cluster.settings.bootstrap, cluster.settings.properties ?? {}]);

  const test = useMutation({
    mutationFn: async () => {
      // Saved secrets are known to the server alone: what was not touched is tested as saved.
      const report = await (untouched
        ? unwrap(api.POST('/api/v1/clusters/{cluster}/test', { params: { path: { cluster: cluster.id } } }))
        : unwrap(api.POST('/api/v1/clusters/test', { body: settings })));
      return { report, of: tested };
    },
  });
  const report = test.data?.of === tested ? test.data.report : undefined;
  const save = useMutation({
    mutationFn: () =>
      cluster
        ? unwrap(
            api.PUT('/api/v1/clusters/{cluster}', {
              params: { path: { cluster: cluster.id } },
              body: settings,
            }),
          )
        : unwrap(api.POST('/api/v1/clusters', { body: settings })),
    onSuccess: async (saved) => {
      await client.invalidateQueries();
      say(t('clusters.saved', { name: saved.settings.name }));
      go(paths.topics(saved.id));
    },
  });

  return (
    <Page>
      <div className={pageCss.split}>
        <form
          className={pageCss.form}
          onSubmit={(event) => {
            event.preventDefault();
            if (ready) test.mutate();
          }}
        >
          <Textarea
            label={t('clusters.address')}
            description={t('clusters.addressHint')}
            placeholder="kafka-1.example.com:9092, kafka-2.example.com:9092"
            autosize
            minRows={2}
            maxRows={6}
            classNames={{ input: css.mono }}
            value={fields.addresses}
            onChange={(event) => change({ addresses: event.currentTarget.value })}
            spellCheck={false}
            autoFocus
          />
          <TextInput
            label={t('clusters.name')}
            placeholder={settings.bootstrap[0]}
            value={fields.name}
            maxLength={200}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <Textarea
            label={t('clusters.properties')}
            description={t('clusters.propertiesHint')}
            placeholder={'security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=…'}
            autosize
            minRows={5}
            maxRows={14}
            classNames={{ input: css.mono }}
            value={fields.properties}
            onChange={(event) => change({ properties: event.currentTarget.value })}
            spellCheck={false}
          />
          <ColorField
            label={t('clusters.color')}
            value={fields.color}
            onChange={(color) => change({ color })}
          />
          <Checkbox
            label={t('clusters.readOnlyLabel')}
            description={t('clusters.readOnlyHint')}
            checked={fields.readOnly}
            onChange={(event) => change({ readOnly: event.currentTarget.checked })}
          />
          <div className={css.payload}>
            <span className={css.label}>{t('clusters.confirmation')}</span>
            <SegmentedControl
              aria-label={t('clusters.confirmation')}
              value={fields.confirmation}
              onChange={(value) => change({ confirmation: value as Fields['confirmation'] })}
              data={(['type', 'ask', 'none'] as const).map((value) => ({
                value,
                label: t(`clusters.confirm.${value}`),
              }))}
            />
          </div>
          {save.error && <Failure problem={toProblem(save.error).body} compact />}
        </form>
        <section className={pageCss.test} aria-label={t('ladder.title')}>
          <Ladder
            report={report}
            error={test.error ? toProblem(test.error).body : undefined}
            running={test.isPending}
            ready={ready}
          />
          <div className={pageCss.actions}>
            <Button
              disabled={!ready}
              loading={test.isPending}
              onClick={() => test.mutate()}
              variant={report?.ok ? 'default' : 'filled'}
            >
              {report ? t('ladder.again') : t('ladder.test')}
            </Button>
            <Button
              disabled={!ready}
              loading={save.isPending}
              variant={report?.ok ? 'filled' : 'default'}
              onClick={() => (report && !report.ok ? setAsking(true) : save.mutate())}
            >
              {report && !report.ok ? t('ladder.saveAnyway') : t('action.save')}
            </Button>
            <Button variant="default" onClick={() => go(paths.clusters())} ml="auto">
              {t('action.cancel')}
            </Button>
          </div>
        </section>
      </div>
      {asking && (
        <Dialog
          title={t('ladder.saveFailing')}
          onClose={() => setAsking(false)}
          small
          actions={
            <>
              <Button variant="default" onClick={() => setAsking(false)}>
                {t('action.cancel')}
              </Button>
              <Button loading={save.isPending} onClick={() => save.mutate()}>
                {t('ladder.saveAnywayNow')}
              </Button>
            </>
          }
        >
          <p>{t('ladder.saveFailingReason')}</p>
        </Dialog>
      )}
    </Page>
  );
}
