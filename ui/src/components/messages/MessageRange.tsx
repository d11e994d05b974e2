import { Button, Checkbox, Popover, Select, TextInput } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconRefresh } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../lib/format';
import { isInteger } from '../../lib/int64';
import {
  formatMessageQuery,
  formatPartitions,
  limits,
  type MessageQuery,
  parsePartitions,
  type Range,
  type Search,
} from '../../lib/search';
import { formatTime, parseTime } from '../../lib/time';
import css from './messages.module.css';

interface MessageRangeProps {
  query: MessageQuery;
  partitions: number | undefined;
  running: boolean;
  paused: boolean;
  onChange: (search: Search) => void;
  onStop: () => void;
  onRestart: () => void;
  onPause: (paused: boolean) => void;
}

const kinds = ['newest', 'oldest', 'offset', 'time', 'live'] as const;

/** Which messages: where to begin, how many, of which partitions; and the button that reads, stops or pauses. */
export function MessageRange(props: MessageRangeProps) {
  const { query, partitions, onChange } = props;
  const { t } = useTranslation();
  const { num } = useFormat();
  const [kind, setKind] = useState(query.range.kind);
  useEffect(() => setKind(query.range.kind), [query.range.kind]);
  const change = (patch: Partial<MessageQuery>) => onChange(formatMessageQuery({ ...query, ...patch }));
  return (
    <>
      <Select
        className={css.kind}
        aria-label={t('range.label')}
        data={kinds.map((value) => ({ value, label: t(`range.${value}`) }))}
        value={kind}
        onChange={(value) => {
          const next = kinds.find((name) => name === value);
          if (!next) return;
          setKind(next);
          if (next !== 'offset' && next !== 'time') change({ range: { kind: next } });
        }}
      />
      {kind === 'offset' && <OffsetField range={query.range} onRange={(range) => change({ range })} />}
      {kind === 'time' && <TimeField range={query.range} onRange={(range) => change({ range })} />}
      {kind !== 'live' && (
        <Select
          className={css.limit}
          aria-label={t('range.limit')}
          data={[...new Set([...limits, query.limit])]
            .sort((a, b) => a - b)
            .map((value) => ({ value: `${value}`, label: num(value) }))}
          value={`${query.limit}`}
          onChange={(value) => value && change({ limit: Number(value) })}
        />
      )}
      <PartitionsField
        chosen={query.partitions}
        count={partitions}
        onChoose={(chosen) => change({ partitions: chosen })}
      />
      <RunButton {...props} live={query.range.kind === 'live'} />
    </>
  );
}

interface FieldProps {
  range: Range;
  onRange: (range: Range) => void;
}

function OffsetField({ range, onRange }: FieldProps) {
  const { t } = useTranslation();
  const given = range.kind === 'offset' ? range.offset : '';
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  const bare = text.replace(/[\s,.\u00a0\u202f]/g, '');
  const fine = bare === '' || (isInteger(bare) && !bare.startsWith('-') && bare.length <= 19);
  const commit = () => {
    if (fine && bare !== '' && bare !== given) onRange({ kind: 'offset', offset: BigInt(bare).toString() });
  };
  return (
    <TextInput
      className={css.offset}
      classNames={{ input: css.mono }}
      aria-label={t('range.offset')}
      placeholder={t('range.offsetPlaceholder')}
      inputMode="numeric"
      value={text}
      error={!fine}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => event.key === 'Enter' && commit()}
    />
  );
}

function TimeField({ range, onRange }: FieldProps) {
  const { t } = useTranslation();
  const { zone, zoneName } = useFormat();
  const given = range.kind === 'time' ? formatTime(range.time, zone) : '';
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  const moment = parseTime(text, zone, Date.now());
  const commit = () => {
    if (moment !== null && text !== given) onRange({ kind: 'time', time: moment });
  };
  return (
    <TextInput
      className={css.time}
      classNames={{ input: css.mono }}
      aria-label={t('range.timeIn', { zone: zoneName })}
      placeholder="2026-03-01 02:30 · -1h"
      title={t('range.timeHint', { zone: zoneName })}
      rightSection={<span className={css.zone}>{zoneName}</span>}
      rightSectionWidth={`${zoneName.length + 2}ch`}
      value={text}
      error={text !== '' && moment === null}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => event.key === 'Enter' && commit()}
    />
  );
}

interface PartitionsFieldProps {
  chosen: number[] | null;
  count: number | undefined;
  onChoose: (chosen: number[] | null) => void;
}

const boxesAtMost = 64;

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function PartitionsField({ chosen, count, onChoose }: PartitionsFieldProps) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  const [text, setText] = useState('');
  const given = chosen === null ? '' : formatPartitions(chosen);
  useEffect(() => setText(given), [given]);
  const parsed = parsePartitions(text);
  const label =
    chosen === null
      ? count === undefined
        ? t('range.allPartitions')
        : t('range.allOf', plural(count))
      : t('range.somePartitions', { list: given });
  const toggle = (partition: number, on: boolean) => {
    const all = chosen ?? indexes(count ?? 0);
    const next = on ? [...all, partition].sort((a, b) => a - b) : all.filter((other) => other !== partition);
    onChoose(next.length === 0 || next.length === count ? null : next);
  };
  return (
    <Popover position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" className={css.partitions} title={label}>
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('range.partitions')} className={css.partitionsBox}>
        <TextInput
          label={t('range.partitions')}
          placeholder="0,2-4"
          value={text}
          error={text !== '' && parsed === null}
          onChange={(event) => setText(event.currentTarget.value)}
          onBlur={() => text !== given && onChoose(parsed)}
          onKeyDown={(event) => event.key === 'Enter' && onChoose(parsed)}
        />
        <div className={css.boxes}>
          {indexes(Math.min(count ?? 0, boxesAtMost)).map((partition) => (
            <Checkbox
              key={partition}
              label={partition}
              checked={chosen === null || chosen.includes(partition)}
              onChange={(event) => toggle(partition, event.currentTarget.checked)}
            />
          ))}
        </div>
        <Button variant="subtle" onClick={() => onChoose(null)}>
          {t('range.allPartitions')}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}

function RunButton({
  running,
  paused,
  live,
  onStop,
  onRestart,
  onPause,
}: MessageRangeProps & { live: boolean }) {
  const { t } = useTranslation();
  if (live && running) {
    return (
      <>
        <Button
          variant={paused ? 'filled' : 'default'}
          className={css.run}
          leftSection={
            paused ? <IconPlayerPlay className={css.icon} /> : <IconPlayerPause className={css.icon} />
          }
          onClick={() => onPause(!paused)}
        >
          {paused ? t('range.resume') : t('range.pause')}
        </Button>
        <Button leftSection={<IconPlayerStop className={css.icon} />} onClick={onStop} className={css.run}>
          {t('range.stop')}
        </Button>
      </>
    );
  }
  if (running) {
    return (
      <Button leftSection={<IconPlayerStop className={css.icon} />} onClick={onStop} className={css.run}>
        {t('range.stop')}
      </Button>
    );
  }
  return (
    <Button leftSection={<IconRefresh className={css.icon} />} onClick={onRestart} className={css.run}>
      {t('range.read')}
    </Button>
  );
}
