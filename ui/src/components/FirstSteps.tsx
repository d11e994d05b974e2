import { SegmentedControl } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { firstCommands, type Tool, tools } from '../lib/firstCommands';
import { useCluster } from '../lib/useCluster';
import { CopyButton } from './CopyButton';
import css from './FirstSteps.module.css';

/** A cluster without topics: its address, first commands to copy, and the way to do it here. */
export function FirstSteps({ create }: { create: ReactNode }) {
  const { t } = useTranslation();
  const [tool, setTool] = useState<Tool>('klamm');
  const cluster = useCluster();
  const address = cluster?.settings.bootstrap.join(',') ?? '';
  return (
    <div className={css.page}>
      <h2 className={css.title}>{t('first.title')}</h2>
      <p className={css.text}>{t('first.reason')}</p>
      <dl className={css.address}>
        <dt>{t('first.address')}</dt>
        <dd>
          <code>{address}</code>
        </dd>
        <dd>
          <CopyButton text={address} label={t('action.copy')} />
        </dd>
      </dl>
      {create && <div className={css.create}>{create}</div>}
      <SegmentedControl
        aria-label={t('first.tool')}
        value={tool}
        onChange={(value) => setTool(value as Tool)}
        data={tools.map((value) => ({ value, label: t(`first.${value}`) }))}
      />
      {firstCommands(tool, address).map((command) => (
        <figure key={command.step} className={css.command}>
          <figcaption>
            {t(`first.${command.step}`)}
            <CopyButton text={command.text} label={t('action.copy')} />
          </figcaption>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
          <pre tabIndex={0}>{command.text}</pre>
        </figure>
      ))}
    </div>
  );
}
