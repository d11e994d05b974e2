import { Modal } from '@mantine/core';
import type { CSSProperties, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { clusterColor, useCluster } from '../lib/useCluster';
import css from './Dialog.module.css';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Stays in view at the foot. */
  actions?: ReactNode;
  small?: boolean;
  /** Framed with the cluster's colour: what it does, it does there. */
  framed?: boolean;
}

export function Dialog({ title, onClose, children, actions, small, framed }: DialogProps) {
  const { t } = useTranslation();
  const cluster = useCluster();
  const color = framed ? clusterColor(cluster?.settings.color) : 'transparent';
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size={small ? 'var(--k-dialog-small)' : 'var(--k-dialog)'}
      closeButtonProps={{ 'aria-label': t('action.close') }}
      classNames={{
        content: css.content,
        header: css.header,
        title: css.title,
        body: css.body,
        inner: css.inner,
      }}
      styles={{ content: { '--frame': color } as CSSProperties }}
    >
      <div className={css.rest}>{children}</div>
      {actions && (
        <div className={css.actions}>
          {framed && cluster && (
            <span className={css.where}>{t('dialog.on', { cluster: cluster.settings.name })}</span>
          )}
          {actions}
        </div>
      )}
    </Modal>
  );
}
