import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useKeys } from '../../lib/keys';
import { usePref } from '../../lib/prefs';
import { useNarrow } from '../../lib/useNarrow';
import { ErrorBoundary } from '../ErrorBoundary';
import { useCrumbs } from './crumbs';
import { KeyHelp } from './KeyHelp';
import { Palette } from './Palette';
import css from './Shell.module.css';
import { Sidebar } from './Sidebar';
import { TopBar } from './TopBar';

/** What surrounds every page: the bar at the left, the line at the top, the palette, the list of keys. */
export function Shell() {
  const { t } = useTranslation();
  const [collapsed, setCollapsed] = usePref('bar', 'open');
  const narrow = useNarrow();
  const small = narrow || collapsed === 'collapsed';
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const place = useRouterState({ select: (state) => state.location.pathname });
  const crumbs = useCrumbs();
  useKeys({ 'mod+k': () => setPalette(true), '?': () => setHelp(true) });

  useEffect(() => {
    const words = crumbs.map((crumb) => crumb.label).reverse();
    document.title = [...words, t('app.name')].join(' · ');
  }, [crumbs, t]);

  return (
    <div className={css.shell} data-collapsed={small || undefined}>
      <a className={css.skip} href="#main">
        {t('app.skip')}
      </a>
      <Sidebar
        collapsed={small}
        onCollapse={narrow ? undefined : (next) => setCollapsed(next ? 'collapsed' : 'open')}
      />
      <TopBar crumbs={crumbs} onPalette={() => setPalette(true)} onHelp={() => setHelp(true)} />
      <main className={css.main} id="main" tabIndex={-1}>
        <ErrorBoundary place={place}>
          <Outlet />
        </ErrorBoundary>
      </main>
      {palette && <Palette onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />}
      {help && <KeyHelp onClose={() => setHelp(false)} />}
    </div>
  );
}
