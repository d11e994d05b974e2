import { useTranslation } from 'react-i18next';
import { A } from '../components/A';
import { Empty } from '../components/State';
import { paths } from '../lib/paths';

export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <Empty title={t('notFound.title')} reason={t('notFound.reason')}>
      <A href={paths.home()}>{t('notFound.home')}</A>
    </Empty>
  );
}
