import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useNotice } from '../lib/notice';
import css from './Page.module.css';
import { Key } from './values';

export interface KeyHint {
  keys: string[];
  label: string;
}

interface PageProps {
  tabs?: ReactNode;
  toolbar?: ReactNode;
  banner?: ReactNode;
  children: ReactNode;
  /** At the foot, left: the keys that matter here. */
  keys?: KeyHint[];
  /** At the foot, right. */
  note?: ReactNode;
}

/** The frame of a page: tabs, tools, what is partial, the content that scrolls, a foot. */
export function Page({ tabs, toolbar, banner, children, keys = [], note }: PageProps) {
  const { t } = useTranslation();
  const notice = useNotice();
  const all = [...keys, { keys: ['?'], label: t('keys.all') }];
  return (
    <div className={css.page}>
      {tabs}
      {toolbar && <div className={css.toolbar}>{toolbar}</div>}
      {banner}
      <div className={css.content}>{children}</div>
      <footer className={css.foot}>
        {all.map((hint) => (
          <span key={hint.label} className={css.hint}>
            {hint.keys.map((key) => (
              <Key key={key}>{key}</Key>
            ))}
            {hint.label}
          </span>
        ))}
        <output className={css.notice} aria-live="polite">
          {notice}
        </output>
        <span className={css.note}>{note}</span>
      </footer>
    </div>
  );
}

/** Pushes what follows in a toolbar to the right. */
export function Spring() {
  return <span className={css.spring} />;
}

/** A quiet line of numbers in a toolbar. */
export function Summary({ children }: { children: ReactNode }) {
  return <span className={css.summary}>{children}</span>;
}
