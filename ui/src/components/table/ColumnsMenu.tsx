import { ActionIcon, Button, Checkbox, Popover } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconColumns3 } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { Column } from './columns';
import css from './DataTable.module.css';
import { hiddenColumns, useTableMemory } from './memory';

interface ColumnsMenuProps<T> {
  table: string;
  columns: readonly Column<T>[];
}

/** Which columns are shown and in what order. */
export function ColumnsMenu<T>({ table, columns }: ColumnsMenuProps<T>) {
  const { t } = useTranslation();
  const [memory, remember, forget] = useTableMemory(table);
  const place = (id: string) => {
    const index = memory.order.indexOf(id);
    return index < 0 ? columns.findIndex((column) => column.id === id) : index;
  };
  const ordered = [...columns].sort((a, b) => place(a.id) - place(b.id));
  const move = (index: number, by: number) => {
    const order = ordered.map((column) => column.id);
    const [id] = order.splice(index, 1);
    if (id !== undefined) order.splice(index + by, 0, id);
    remember({ order });
  };
  const hidden = hiddenColumns(memory, columns);
  const toggle = (id: string, shown: boolean) =>
    remember({ hidden: shown ? hidden.filter((other) => other !== id) : [...hidden, id] });
  return (
    <Popover position="bottom-end" withinPortal trapFocus returnFocus>
      <Popover.Target>
        <Button variant="subtle" color="gray" leftSection={<IconColumns3 className={css.menuIcon} />}>
          {t('table.columns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('table.columns')}>
        {ordered.map((column, index) => (
          <div key={column.id} className={css.columnsItem}>
            <Checkbox
              label={column.title}
              checked={!hidden.includes(column.id)}
              disabled={column.fixed}
              onChange={(event) => toggle(column.id, event.currentTarget.checked)}
            />
            <ActionIcon
              size="xs"
              disabled={index === 0}
              aria-label={t('table.moveLeft', { column: column.title })}
              onClick={() => move(index, -1)}
            >
              <IconArrowUp />
            </ActionIcon>
            <ActionIcon
              size="xs"
              disabled={index === ordered.length - 1}
              aria-label={t('table.moveRight', { column: column.title })}
              onClick={() => move(index, 1)}
            >
              <IconArrowDown />
            </ActionIcon>
          </div>
        ))}
        <Button variant="subtle" fullWidth onClick={forget}>
          {t('table.reset')}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
