import { useMediaQuery } from '@mantine/hooks';
import { tokenPixels } from './tokens';

/** True when the window has no room for the bar's words and for a panel beside a table. */
export function useNarrow(): boolean {
  return (
    useMediaQuery(`(max-width: ${tokenPixels('--k-narrow')}px)`, false, { getInitialValueInEffect: false }) ??
    false
  );
}
