import { ActionIcon, Tooltip } from '@mantine/core';
import type { ComponentType } from 'react';
import css from './values.module.css';

interface IconActionProps {
  label: string;
  icon: ComponentType<{ className?: string }>;
  onClick: () => void;
  disabled?: boolean;
  danger?: boolean;
}

/** A button that is only an icon; its words show on hover and are read out. */
export function IconAction({ label, icon: Icon, onClick, disabled, danger }: IconActionProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        aria-label={label}
        color={danger ? 'bad' : 'gray'}
        disabled={disabled}
        onClick={(event) => {
          event.stopPropagation();
          onClick();
        }}
      >
        <Icon className={css.buttonIcon} />
      </ActionIcon>
    </Tooltip>
  );
}
