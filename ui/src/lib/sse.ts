export interface StreamEvent {
  event: string;
  data: string;
  id: string;
}

/** Cuts the text of an event stream (text/event-stream) into events as it arrives. */
export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id = '';

  /** The events that this piece completes. */
  push(piece: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    this.rest += piece;
    let start = 0;
    for (;;) {
      const end = this.rest.indexOf('\n', start);
      if (end < 0) break;
      const line = this.rest.slice(start, this.rest[end - 1] === '\r' && end > start ? end - 1 : end);
      start = end + 1;
      if (line === '') {
        if (this.data.length > 0) {
          events.push({ event: this.event || 'message', data: this.data.join('\n'), id: this.id });
        }
        this.event = '';
        this.data = [];
      } else this.field(line);
    }
    this.rest = this.rest.slice(start);
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment keeps the connection open
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') this.event = value;
    else if (name === 'data') this.data.push(value);
    else if (name === 'id') this.id = value;
  }
}

/** Reads an event stream until it ends or the reader's request is aborted. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const event of parser.push(decoder.decode(value, { stream: true }))) yield event;
    }
  } finally {
    reader.cancel().catch(() => {}); // the other end may be gone already
  }
}
