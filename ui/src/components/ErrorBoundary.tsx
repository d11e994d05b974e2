import { Component, type ErrorInfo, type ReactNode } from 'react';
import { Failure } from './State';

interface Props {
  /** A new place is a new try. */
  place: string;
  children: ReactNode;
}

/** A fault of the page itself is shown in words, never as a blank page. */
export class ErrorBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(previous: Props) {
    if (previous.place !== this.props.place && this.state.error) this.setState({ error: null });
  }

  override componentDidCatch(error: Error, info: ErrorInfo) {
    console.error(error, info.componentStack);
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Failure
        problem={{ code: 'PAGE_FAILED', title: error.message, detail: error.message, retriable: true }}
        onRetry={() => this.setState({ error: null })}
      />
    );
  }
}
