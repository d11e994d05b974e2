// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { act, cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import i18n from '../i18n';
import { theme } from '../theme';
import { Failure, Loading, Partial } from './State';

function show(node: React.ReactNode) {
  return render(
    <MantineProvider theme={theme} env="test">
      {node}
    </MantineProvider>,
  );
}

beforeEach(() => i18n.changeLanguage('en'));
afterEach(cleanup);

describe('a failure', () => {
  const problem = {
    code: 'TOPIC_AUTHORIZATION_FAILED',
    title: 'Not authorised: DescribeConfigs on topic orders.',
    operation: 'DescribeConfigs',
    resource: 'topic orders',
    help: 'Ask for an ACL that allows the operation on the resource.',
    retriable: false,
  };
  it('names operation, resource and code, and offers another try', async () => {
    const retry = vi.fn();
    show(<Failure problem={problem} onRetry={retry} />);
    expect(screen.getByRole('alert').textContent).toContain('DescribeConfigs · topic orders');
    expect(screen.getByText('TOPIC_AUTHORIZATION_FAILED')).toBeTruthy();
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(retry).toHaveBeenCalledOnce();
  });
  it('speaks Russian, the server’s help included', async () => {
    await i18n.changeLanguage('ru');
    show(<Failure problem={problem} />);
    expect(screen.getByText('Нет прав на этот топик')).toBeTruthy();
    expect(screen.getByText('Попросите ACL, который разрешает эту операцию над ресурсом.')).toBeTruthy();
  });
  it('keeps the server’s words for a code nobody knows', () => {
    show(<Failure problem={{ code: 'BRAND_NEW', title: 'Something new.', retriable: true }} />);
    expect(screen.getByText('Something new.')).toBeTruthy();
  });
});

it('loading shows nothing at first and a skeleton later', () => {
  vi.useFakeTimers();
  try {
    show(<Loading rows={3} />);
    const place = screen.getByRole('status');
    expect(place.childElementCount).toBe(0);
    act(() => {
      vi.advanceTimersByTime(150);
    });
    expect(place.childElementCount).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});

it('a partial answer shows one problem and the rest on demand', async () => {
  const problems = ['1', '2', '3'].map((id) => ({
    code: 'TIMEOUT',
    title: '',
    resource: `broker ${id}`,
    retriable: true,
  }));
  show(<Partial problems={problems} />);
  expect(screen.queryByText(/broker 2/)).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: '2 more' }));
  expect(screen.getByText(/broker 3/)).toBeTruthy();
});
