import { Menu, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconHelp, IconMoon, IconSun } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { chooseLanguage, languages } from '../../i18n';
import { useFormat } from '../../lib/format';
import { zoneName } from '../../lib/time';
import { useReadOnly } from '../../lib/useCluster';
import { A } from '../A';
import { Key, Tag } from '../values';
import type { Crumb } from './crumbs';
import css from './Shell.module.css';

interface TopBarProps {
  crumbs: Crumb[];
  onPalette: () => void;
  onHelp: () => void;
}

export function TopBar({ crumbs, onPalette, onHelp }: TopBarProps) {
  const { t } = useTranslation();
  const readOnly = useReadOnly();
  return (
    <header className={css.top}>
      <ol className={css.crumbs} aria-label={t('nav.crumbs')}>
        {crumbs.map((crumb, index) => (
          <li key={crumb.href}>
            {index > 0 && (
              <span className={css.slash} aria-hidden="true">
                /
              </span>
            )}
            <A
              href={crumb.href}
              title={crumb.label}
              aria-current={index === crumbs.length - 1 ? 'page' : undefined}
            >
              {crumb.label}
            </A>
          </li>
        ))}
        {readOnly && (
          <li>
            <Tag tone="warn" title={t('clusters.readOnlyHint')}>
              {t('clusters.readOnly')}
            </Tag>
          </li>
        )}
      </ol>
      <button type="button" className={css.search} onClick={onPalette}>
        <span>{t('palette.placeholder')}</span>
        <Key>Ctrl K</Key>
      </button>
      <div className={css.tools}>
        <ZoneMenu />
        <LanguageMenu />
        <ThemeMenu />
        <button
          type="button"
          className={css.tool}
          onClick={onHelp}
          aria-label={t('keys.title')}
          title={t('keys.title')}
        >
          <IconHelp className={css.icon} aria-hidden="true" />
        </button>
      </div>
    </header>
  );
}

function ZoneMenu() {
  const { t } = useTranslation();
  const { zone, zoneName: name, setZone } = useFormat();
  const local = zoneName('local');
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <button
          type="button"
          className={css.tool}
          aria-label={t('zone.label', { zone: name })}
          title={t('zone.hint')}
        >
          {name}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => setZone('UTC')} aria-current={zone === 'UTC'}>
          UTC
        </Menu.Item>
        <Menu.Item onClick={() => setZone('local')} aria-current={zone === 'local'}>
          {t('zone.local', { zone: local })}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function LanguageMenu() {
  const { t, i18n } = useTranslation();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <button
          type="button"
          className={css.tool}
          aria-label={`${t('language.label')}: ${i18n.language.toUpperCase()}`}
          title={t('language.label')}
        >
          {i18n.language.toUpperCase()}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {languages.map((language) => (
          <Menu.Item key={language} lang={language} onClick={() => chooseLanguage(language)}>
            {t(`language.${language}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function ThemeMenu() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = colorScheme === 'dark' ? IconMoon : colorScheme === 'light' ? IconSun : IconDeviceDesktop;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <button type="button" className={css.tool} aria-label={t('theme.label')} title={t('theme.label')}>
          <Icon className={css.icon} aria-hidden="true" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)}>
            {t(`theme.${scheme}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
