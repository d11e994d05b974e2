import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import en from '../i18n/en.json';

type KnownState = keyof typeof en.groupState;

/** A group's state in words; one that Kafka added since keeps its own name. */
export function useGroupState(): (state: string) => string {
  const { t } = useTranslation();
  return useCallback(
    (state: string) => {
      if (state === '') return t('groupState.unknown');
      return state in en.groupState ? t(`groupState.${state as KnownState}`) : state;
    },
    [t],
  );
}

export function groupStateTone(state: string): 'good' | 'warn' | 'bad' | 'dim' {
  if (state === 'Stable') return 'good';
  if (state === 'Dead') return 'bad';
  return state === 'Empty' || state === '' ? 'dim' : 'warn';
}
