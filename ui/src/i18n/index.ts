import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { readPref, writePref } from '../lib/prefs';
import en from './en.json';
import ru from './ru.json';

export const languages = ['en', 'ru'] as const;
export type Language = (typeof languages)[number];

function firstLanguage(): Language {
  const kept = readPref('language');
  const wanted = kept ? [kept] : navigator.languages;
  for (const tag of wanted) {
    const found = languages.find((language) => tag.toLowerCase().startsWith(language));
    if (found) return found;
  }
  return 'en';
}

i18next.on('languageChanged', (language) => {
  document.documentElement.lang = language;
});

await i18next.use(initReactI18next).init({
  lng: firstLanguage(),
  fallbackLng: 'en',
  supportedLngs: languages,
  resources: { en: { translation: en }, ru: { translation: ru } },
  interpolation: { escapeValue: false }, // React escapes
  returnNull: false,
});

export function chooseLanguage(language: Language): void {
  writePref('language', language);
  i18next.changeLanguage(language).catch(() => {}); // both languages are in memory: nothing can fail to load
}

export default i18next;
