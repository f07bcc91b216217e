import { describe, expect, it } from '@jest/globals';
import { PipelinedWriter } from '../../../../projections/engine/projector.js';

interface Write {
  readonly batch: number;
  begin(): void;
  end(): void;
  fail(error: Error): void;
}

/** A writer whose writes start and end under control of the test. */
const setUp = () => {
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

/** The state of a promise after all pending callbacks have run. */
const stateOf = async (promise: Promise<void>): Promise<string> => {
  let state = 'pending';
  promise.then(
    () => (state = 'resolved'),
    (error: Error) => (state = error.message),
  );
  await new Promise(setImmediate);
  return state;
};

describe('The pipelined writer', () => {
  it('accepts the next batch as soon as a write has started', async () => {
    const { writer, writes } = setUp();
    const first = writer.push(1);
    expect(await stateOf(first)).toBe('pending');
    writes[0]!.begin();
    expect(await stateOf(first)).toBe('resolved');
  });

  it('writes batches in order, with at most one batch waiting', async () => {
    const { writer, push, begun } = setUp();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    expect(await stateOf(second)).toBe('pending');
    expect(begun()).toEqual([1]);
    first.end();
    await stateOf(second);
    expect(begun()).toEqual([1, 2]);
  });

  it('stops after the first batch that cannot be written, and throws its error', async () => {
    const { writer, push, begun } = setUp();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    first.fail(new Error('disk full'));
    expect(await stateOf(second)).toBe('disk full');
    expect(await stateOf(writer.push(3))).toBe('disk full');
    expect(await stateOf(writer.finish())).toBe('disk full');
    expect(begun()).toEqual([1]);
  });

  it('throws the error of a batch that failed while no call was waiting, without an unhandled rejection', async () => {
    const { writer, push } = setUp();
    const unhandled: unknown[] = [];
    const keepError = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', keepError);
    const first = await push(1);
    first.begin();
    await new Promise(setImmediate);
    first.fail(new Error('connection lost'));
    await new Promise(setImmediate);
    process.off('unhandledRejection', keepError);
    expect(unhandled).toEqual([]);
    expect(await stateOf(writer.finish())).toBe('connection lost');
  });

  it('does not wait for the start of a write that has failed before it started', async () => {
    const { writer, writes } = setUp();
    const first = writer.push(1);
    expect(await stateOf(first)).toBe('pending');
    writes[0]!.fail(new Error('no connection'));
    expect(await stateOf(first)).toBe('no connection');
  });

  it('drops prepared batches when the lease is lost', async () => {
    const { stop, writer, push, begun } = setUp();
    const first = await push(1);
    first.begin();
    const second = writer.push(2);
    stop.abort();
    first.end();
    expect(await stateOf(second)).toBe('resolved');
    expect(begun()).toEqual([1]);
  });

  it('waits for the batch in flight when it stops', async () => {
    const { stop, writer, push } = setUp();
    const first = await push(1);
    first.begin();
    stop.abort();
    const finished = writer.finish();
    expect(await stateOf(finished)).toBe('pending');
    first.end();
    expect(await stateOf(finished)).toBe('resolved');
  });
});
