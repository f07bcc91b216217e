import { describe, expect, it } from '@jest/globals';
import { PipelinedWriter } from '../../../projections/engine/pipelined-writer.js';

interface Write {
  readonly batch: number;
  begin(): void;
  end(): void;
  fail(error: Error): void;
}

/** A writer whose writes begin and end when the test says so. */
const given = () => {
  const stop = new AbortController();
  const writes: Write[] = [];
  const writer = new PipelinedWriter<number>(
    (batch, begin) => new Promise((end, fail) => writes.push({ batch, begin, end, fail })),
    stop.signal,
  );
  const push = async (batch: number): Promise<Write> => {
    writer.push(batch).catch(() => {});
    await new Promise(setImmediate);
    return writes.at(-1)!;
  };
  return { stop, writer, writes, push, begun: () => writes.map(({ batch }) => batch) };
};

/** What has happened to a promise once everything that can run has run. */
const stateOf = async (promise: Promise<void>): Promise<string> => {
  let state = 'pending';
  promise.then(
    () => (state = 'resolved'),
    (error: Error) => (state = error.message),
  );
  await new Promise(setImmediate);
  return state;
};

describe('batches that are written while the next is prepared', () => {
  it('are asked for again as soon as the database has its work', async () => {
    const { writer, writes } = given();
    const first = writer.push(1);
    expect(await stateOf(first)).toBe('pending');
    writes[0]!.begin();
    expect(await stateOf(first)).toBe('resolved');
  });

  it('are written in order, with at most one ahead', async () => {
    const { writer, push, begun } = given();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    expect(await stateOf(second)).toBe('pending');
    expect(begun()).toEqual([1]);
    first.end();
    await stateOf(second);
    expect(begun()).toEqual([1, 2]);
  });

  it('stop with the first that cannot be written, and say why', async () => {
    const { writer, push, begun } = given();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    first.fail(new Error('disk full'));
    expect(await stateOf(second)).toBe('disk full');
    expect(await stateOf(writer.push(3))).toBe('disk full');
    expect(await stateOf(writer.finish())).toBe('disk full');
    expect(begun()).toEqual([1]);
  });

  it('may fail while nobody waits for them', async () => {
    const { writer, push } = given();
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const first = await push(1);
    first.begin();
    await new Promise(setImmediate);
    first.fail(new Error('connection lost'));
    await new Promise(setImmediate);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    expect(await stateOf(writer.finish())).toBe('connection lost');
  });

  it('do not wait for a write to begin that has failed before', async () => {
    const { writer, writes } = given();
    const first = writer.push(1);
    expect(await stateOf(first)).toBe('pending');
    writes[0]!.fail(new Error('no connection'));
    expect(await stateOf(first)).toBe('no connection');
  });

  it('are dropped if they were prepared when the lease was lost', async () => {
    const { stop, writer, push, begun } = given();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    stop.abort();
    first.end();
    expect(await stateOf(second)).toBe('resolved');
    expect(begun()).toEqual([1]);
  });

  it('are waited for at a stop', async () => {
    const { stop, writer, push } = given();
    const first = await push(1);
    first.begin();
    stop.abort();
    const finished = writer.finish();
    expect(await stateOf(finished)).toBe('pending');
    first.end();
    expect(await stateOf(finished)).toBe('resolved');
  });
});
