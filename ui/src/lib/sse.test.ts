import { expect, it } from 'vitest';
import { EventParser, readEvents } from './sse';

const stream =
  ': hello\n\nevent: messages\ndata: {"a":1}\n\nevent: done\r\ndata: one\r\ndata: two\r\nid: 7\r\n\r\ndata:bare\n\n';

it('reads events however the stream is cut', () => {
  for (let size = 1; size <= stream.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < stream.length; at += size) events.push(...parser.push(stream.slice(at, at + size)));
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['messages', '{"a":1}'],
      ['done', 'one\ntwo'],
      ['message', 'bare'],
    ]);
  }
});

it('reads letters that are cut between chunks', async () => {
  const bytes = new TextEncoder().encode('data: Привет\n\n');
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const events = [];
  for await (const event of readEvents(body)) events.push(event.data);
  expect(events).toEqual(['Привет']);
});
