import { useTranslation } from 'react-i18next';
import { clusterColor, clusterColors } from '../lib/useCluster';
import css from './ColorField.module.css';

interface ColorFieldProps {
  label: string;
  value: string;
  onChange: (color: string) => void;
}

/** One of the cluster colours. */
export function ColorField({ label, value, onChange }: ColorFieldProps) {
  const { t } = useTranslation();
  return (
    <fieldset className={css.field}>
      <legend>{label}</legend>
      {clusterColors.map((color) => (
        <label key={color} className={css.color} title={t(`color.${color}`)}>
          <input
            type="radio"
            name="color"
            value={color}
            checked={value === color}
            aria-label={t(`color.${color}`)}
            onChange={() => onChange(color)}
          />
          <span style={{ background: clusterColor(color) }} />
        </label>
      ))}
    </fieldset>
  );
}
