import { OPERATIONS_STREAM } from '../../../events/streams.js';
import { BEGINNING, type LogRedactor, type RecordedEvent } from '../../event-log.js';
import { newEvent } from '../../new-event.js';
import { readWithRetries } from '../../read-with-retries.js';
import { readCopy } from './erased-events.js';
import type { StreamRewriter } from './stream-rewriter.js';
import type { Writer } from '../writer.js';

/** Redacts contents in an EventStoreDB: the streams of the records are rewritten with redacted events. */
export class EventStoreRedactor implements LogRedactor {
  constructor(
    private readonly rewriter: StreamRewriter,
    private readonly writer: Writer,
    readonly nodes: readonly string[],
  ) {}

  async *pages(): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const page of this.rewriter.pages(BEGINNING)) yield page.map(readCopy);
  }

  async present(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    const firsts = new Map<string, bigint>();
    await this.rewriter.forEach(new Set(events.map(({ stream }) => stream)), async (stream) => {
      const first = await this.rewriter.firstRevision(stream);
      if (first !== undefined) firsts.set(stream, first);
    });
    return events.filter(({ stream, revision }) => firsts.has(stream) && revision >= firsts.get(stream)!);
  }

  async rewrite(
    streams: ReadonlySet<string>,
    clean: (events: readonly RecordedEvent[]) => readonly RecordedEvent[],
  ): Promise<void> {
    const firstCopies = new Map<string, bigint>();
    await this.rewriter.forEach(streams, async (stream) => {
      const copy = (events: readonly RecordedEvent[]) => (events.length === 0 ? undefined : clean(events));
      const first = await this.rewriter.appendCopies(stream, copy);
      if (first !== undefined) firstCopies.set(stream, first);
    });
    if (firstCopies.size === 0) return;
    // Places of truncated events must count as present from the moment at which a scavenge may remove the events.
    const rewritten = newEvent({ type: 'StreamsRewritten', data: { streams: firstCopies.size } });
    await readWithRetries(() => this.writer.append(OPERATIONS_STREAM, 'any', [rewritten]));
    await this.rewriter.forEach(new Set(firstCopies.keys()), (stream) =>
      this.rewriter.truncateBefore(stream, firstCopies.get(stream)!),
    );
  }
}
