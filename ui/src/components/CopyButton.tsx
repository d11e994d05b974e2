import { Button } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from '../lib/clipboard';
import css from './values.module.css';

const shownFor = 1500; // ms

export function CopyButton({ text, label }: { text: string; label: string }) {
  const { t } = useTranslation();
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), shownFor);
    return () => clearTimeout(timer);
  }, [done]);
  const Icon = done ? IconCheck : IconCopy;
  return (
    <Button
      variant="subtle"
      leftSection={<Icon className={css.buttonIcon} aria-hidden="true" />}
      onClick={() => copyText(text, t('keys.copied')).then(() => setDone(true))}
    >
      {done ? t('keys.copied') : label}
    </Button>
  );
}
