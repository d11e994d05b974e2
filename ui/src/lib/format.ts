import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { groupDigits } from './int64';
import { usePref } from './prefs';
import { formatSize } from './size';
import { formatClock, formatDate, formatISO, formatTime, type Zone, zoneName } from './time';

/** The number that decides the plural form of a count of any size, and its digits for display. */
export function plural(value: string | number, locale: string): { count: number; n: string } {
  const big = BigInt(value);
  const size = big < 0n ? -big : big;
  return { count: Number(size < 1000n ? size : 1000n + (size % 100n)), n: groupDigits(big, locale) };
}

/** How numbers, sizes and times are written in the chosen language and zone. */
export function useFormat() {
  const { i18n } = useTranslation();
  const [zone, setZone] = usePref('zone', 'local');
  const locale = i18n.language;
  return useMemo(
    () => ({
      locale,
      zone: zone as Zone,
      zoneName: zoneName(zone),
      setZone,
      num: (value: string | number | bigint) => groupDigits(value, locale),
      size: (bytes: string | number) => formatSize(bytes, locale),
      time: (epoch: string) => formatTime(epoch, zone),
      date: (epoch: string) => formatDate(epoch, zone),
      clock: (epoch: string) => formatClock(epoch, zone),
      iso: (epoch: string) => formatISO(epoch, zone),
      plural: (value: string | number) => plural(value, locale),
    }),
    [locale, zone, setZone],
  );
}

export type Format = ReturnType<typeof useFormat>;
