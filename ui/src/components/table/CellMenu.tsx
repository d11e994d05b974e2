import { Menu } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { copyText } from '../../lib/clipboard';
import type { Column } from './columns';
import css from './DataTable.module.css';

export interface CellMenuPlace<T> {
  x: number;
  y: number;
  row: T;
  column: Column<T>;
}

interface CellMenuProps<T> {
  place: CellMenuPlace<T> | null;
  onClose: () => void;
  columns: readonly Column<T>[];
  rows: () => T[];
}

/** Right click: copies the cell, its row or its column. */
export function CellMenu<T>({ place, onClose, columns, rows }: CellMenuProps<T>) {
  const { t } = useTranslation();
  if (!place) return null;
  const { row, column } = place;
  const items: [string, () => string, string][] = [
    [t('table.copyCell'), () => column.text(row), t('keys.copied')],
    [t('table.copyRow'), () => columns.map((c) => c.text(row)).join('\t'), t('keys.copiedRow')],
    [t('table.copyColumn'), () => rows().map(column.text).join('\n'), t('keys.copiedColumn')],
  ];
  return (
    <Menu opened onChange={(opened) => !opened && onClose()} position="bottom-start">
      <Menu.Target>
        <span className={css.menuAnchor} style={{ left: place.x, top: place.y }} />
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(([label, text, notice]) => (
          <Menu.Item key={label} onClick={() => copyText(text(), notice)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
