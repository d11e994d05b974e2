import { useTranslation } from 'react-i18next';
import { Dialog } from '../Dialog';
import { Key } from '../values';
import css from './Shell.module.css';

const keys = [
  [['Ctrl', 'K'], 'palette'],
  [['/'], 'query'],
  [['j', 'k', '↑', '↓'], 'rows'],
  [['Enter'], 'open'],
  [['Esc'], 'close'],
  [['c'], 'copy'],
  [['s'], 'save'],
  [['r'], 'refresh'],
  [['p'], 'pause'],
  [['?'], 'help'],
] as const;

/** All keys. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog title={t('keys.title')} onClose={onClose} small>
      <dl className={css.keys}>
        {keys.map(([names, meaning]) => (
          <Line key={meaning} names={names} meaning={t(`keys.${meaning}`)} />
        ))}
      </dl>
    </Dialog>
  );
}

function Line({ names, meaning }: { names: readonly string[]; meaning: string }) {
  return (
    <>
      <dt>
        {names.map((name) => (
          <span key={name}>
            <Key>{name}</Key>{' '}
          </span>
        ))}
      </dt>
      <dd>{meaning}</dd>
    </>
  );
}
