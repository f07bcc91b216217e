import { setImmediate } from 'node:timers/promises';
import { Unavailable } from '../../src/errors.js';
import {
  type Appended,
  EventLog,
  type ExpectedRevision,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../../src/event-log/event-log.js';

/** What becomes of an append: it is answered, it is stored but the answer is lost, or it never arrives. */
export type Fate = 'answered' | 'unanswered' | 'lost';

/** One stream in memory, as the port has it, in which each call takes as long as the spec wants and may go wrong. */
export class MemoryLog extends EventLog {
  readonly positionUnit = 'events';
  readonly events: RecordedEvent[] = [];

  constructor(
    private readonly fate: () => Fate = () => 'answered',
    /** Turns of the event loop before the next call is carried out, and again before it is answered. */
    private readonly turns: () => number = () => 1,
  ) {
    super();
  }

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const fate = this.fate();
    await this.wait();
    if (fate === 'lost') throw new Unavailable('The append never arrived');
    const answer = this.store(stream, expected, events);
    await this.wait();
    if (fate === 'unanswered') throw new Unavailable('The answer was lost');
    if (answer instanceof Error) throw answer;
    return answer;
  }

  find(): never {
    throw new Error('Nobody looks for events in a MemoryLog');
  }

  eventAt(): never {
    throw new Error('Nobody asks a MemoryLog for a position');
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    await this.wait();
    const events = this.events.filter((event) => event.stream === stream && event.revision >= from);
    await this.wait();
    return events.slice(0, limit);
  }

  private store(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Appended | Error {
    const known = this.events.filter(({ id }) => events.some((event) => event.id === id));
    const last = this.events.length - 1;
    if (known.length === events.length)
      return { revision: known.at(-1)!.revision, position: known.at(-1)!.position, duplicate: true };
    if (expected !== 'any' && (expected === 'no-stream' ? -1n : expected) !== BigInt(last))
      return new WrongExpectedRevision(stream, expected, last < 0 ? 'no-stream' : BigInt(last));
    for (const event of events) {
      const at = BigInt(this.events.length);
      this.events.push({ ...event, stream, revision: at, position: at, recordedAt: 0 });
    }
    const at = BigInt(this.events.length - 1);
    return { revision: at, position: at, duplicate: false };
  }

  private async wait(): Promise<void> {
    for (let turn = this.turns(); turn > 0; turn -= 1) await setImmediate();
  }

  appendAll(): never {
    throw new Error('Not for this spec');
  }
  readAll(): never {
    throw new Error('Not for this spec');
  }
  subscribe(): never {
    throw new Error('Not for this spec');
  }
  head(): Promise<bigint> {
    return Promise.resolve(BigInt(this.events.length - 1));
  }
  id(): Promise<string> {
    return Promise.resolve('memory-log');
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}
