import {
  ActionIcon,
  Button,
  Checkbox,
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  Input,
  type MantineColorsTuple,
  Menu,
  Modal,
  NumberInput,
  Popover,
  SegmentedControl,
  Select,
  Skeleton,
  Tabs,
  Textarea,
  TextInput,
  Tooltip,
} from '@mantine/core';

// Mantine's own scale, tied to the names in tokens.css. Both schemes' colours live there.

function tuple(...names: string[]): MantineColorsTuple {
  return names.map((name) => `var(--k-${name})`) as unknown as MantineColorsTuple;
}

function shades(name: string): MantineColorsTuple {
  return tuple(...Array.from({ length: 10 }, () => name));
}

const small = { defaultProps: { size: 'xs' } };

export const theme = createTheme({
  fontFamily: 'var(--k-font)',
  fontFamilyMonospace: 'var(--k-mono)',
  headings: { fontFamily: 'var(--k-font)', fontWeight: 'var(--k-weight-strong)' },
  primaryColor: 'accent',
  colors: {
    dark: tuple(
      'fg',
      'fg-soft',
      'fg-dim',
      'fg-dim',
      'line-strong',
      'bg-hover',
      'bg-raised',
      'bg',
      'bg-bar',
      'bg',
    ),
    gray: tuple(
      'bg-hover',
      'bg-hover',
      'line-soft',
      'line-color',
      'line-strong',
      'fg-dim',
      'fg-dim',
      'fg-soft',
      'fg',
      'fg',
    ),
    accent: shades('accent'),
    good: shades('good'),
    warn: shades('warn'),
    bad: shades('bad'),
  },
  fontSizes: {
    xs: 'var(--k-text)',
    sm: 'var(--k-text)',
    md: 'var(--k-text)',
    lg: 'var(--k-text-title)',
    xl: 'var(--k-text-title)',
  },
  spacing: { xs: 'var(--k-2)', sm: 'var(--k-3)', md: 'var(--k-4)', lg: 'var(--k-5)', xl: 'var(--k-6)' },
  radius: {
    xs: 'var(--k-radius)',
    sm: 'var(--k-radius)',
    md: 'var(--k-radius)',
    lg: 'var(--k-radius)',
    xl: 'var(--k-radius)',
  },
  defaultRadius: 'sm',
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    if (input.variant !== 'filled') return colors;
    return { ...colors, color: input.color === 'bad' ? 'var(--k-bad-fg)' : 'var(--k-accent-fg)' };
  },
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray' } }),
    Button: Button.extend({ ...small, styles: { root: { fontWeight: 'var(--k-weight-medium)' } } }),
    Checkbox: Checkbox.extend({ defaultProps: { size: 'xs', iconColor: 'var(--k-accent-fg)' } }),
    Input: Input.extend(small),
    InputWrapper: Input.Wrapper.extend({
      ...small,
      styles: { label: { marginBottom: 'var(--k-1)' }, description: { marginBottom: 'var(--k-1)' } },
    }),
    Menu: Menu.extend({ defaultProps: { shadow: 'sm', transitionProps: { duration: 0 } } }),
    Modal: Modal.extend({
      defaultProps: {
        transitionProps: { duration: 0 },
        centered: false,
        overlayProps: { backgroundOpacity: 0.35 },
        yOffset: 'var(--k-6)',
      },
    }),
    NumberInput: NumberInput.extend(small),
    Popover: Popover.extend({ defaultProps: { shadow: 'sm', transitionProps: { duration: 0 } } }),
    SegmentedControl: SegmentedControl.extend({
      defaultProps: { size: 'xs', transitionDuration: 0 },
      styles: {
        root: { backgroundColor: 'var(--k-bg-hover)' },
        indicator: { backgroundColor: 'var(--k-bg-pill)', boxShadow: 'none' },
      },
    }),
    Select: Select.extend({
      defaultProps: {
        size: 'xs',
        allowDeselect: false,
        checkIconPosition: 'right',
        comboboxProps: { shadow: 'sm', transitionProps: { duration: 0 } },
      },
    }),
    Skeleton: Skeleton.extend({ defaultProps: { animate: false } }),
    Tabs: Tabs.extend({ defaultProps: { keepMounted: false } }),
    Textarea: Textarea.extend(small),
    TextInput: TextInput.extend(small),
    Tooltip: Tooltip.extend({
      defaultProps: {
        openDelay: 300,
        withinPortal: true,
        transitionProps: { duration: 0 },
        multiline: true,
        maw: 'var(--k-panel)',
      },
    }),
  },
});

const fromTokens = {
  '--mantine-color-body': 'var(--k-bg)',
  '--mantine-color-text': 'var(--k-fg)',
  '--mantine-color-dimmed': 'var(--k-fg-dim)',
  '--mantine-color-placeholder': 'var(--k-fg-dim)',
  '--mantine-color-anchor': 'var(--k-accent)',
  '--mantine-color-default': 'var(--k-bg)',
  '--mantine-color-default-hover': 'var(--k-bg-hover)',
  '--mantine-color-default-color': 'var(--k-fg)',
  '--mantine-color-default-border': 'var(--k-line-strong)',
  '--mantine-color-error': 'var(--k-bad)',
  '--mantine-color-accent-filled': 'var(--k-accent)',
  '--mantine-color-accent-filled-hover': 'var(--k-accent-hover)',
  '--mantine-color-accent-light': 'var(--k-accent-soft)',
  '--mantine-color-accent-light-color': 'var(--k-accent)',
  '--mantine-color-accent-light-hover': 'var(--k-accent-soft)',
  '--mantine-color-accent-outline': 'var(--k-accent)',
  '--mantine-color-accent-text': 'var(--k-accent)',
  '--mantine-color-bad-filled': 'var(--k-bad)',
  '--mantine-color-bad-filled-hover': 'var(--k-bad)',
  '--mantine-primary-color-contrast': 'var(--k-accent-fg)',
  '--mantine-color-gray-light': 'var(--k-bg-hover)',
  '--mantine-color-gray-light-color': 'var(--k-fg-soft)',
  '--mantine-color-gray-light-hover': 'var(--k-bg-hover)',
  '--mantine-color-gray-text': 'var(--k-fg-soft)',
};

export const cssVariables: CSSVariablesResolver = () => ({
  variables: { '--mantine-line-height': 'var(--k-leading)' },
  light: fromTokens,
  dark: fromTokens,
});
