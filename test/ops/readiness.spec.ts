import { Logger } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { Readiness } from '../../src/ops/readiness.js';

describe('Readiness', () => {
  it('reports the worst state of its parts', async () => {
    const readiness = new Readiness();
    readiness.register('a', () => ({ state: 'ok' }));
    expect((await readiness.report()).status).toBe('ready');
    readiness.register('b', () => ({ state: 'degraded', detail: 'one event is parked' }));
    expect(await readiness.report()).toEqual({
      status: 'degraded',
      parts: { a: { state: 'ok' }, b: { state: 'degraded', detail: 'one event is parked' } },
    });
    readiness.register('c', () => Promise.reject(new Error('no connection')));
    expect(await readiness.report()).toMatchObject({ status: 'not-ready', parts: { c: { state: 'unavailable' } } });
  });

  it('hides the message of a failed part, and logs it once until the part answers again', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const readiness = new Readiness();
    let failure: Error | undefined = new Error('connect ECONNREFUSED 10.1.2.3:5432');
    readiness.register('readModels', () => (failure ? Promise.reject(failure) : { state: 'ok' }));
    for (let i = 0; i < 3; i++) expect(JSON.stringify(await readiness.report())).not.toMatch(/10\.1\.2\.3|ECONN/);
    expect(warn.mock.calls).toEqual([['readModels does not answer: connect ECONNREFUSED 10.1.2.3:5432']]);
    failure = undefined;
    await readiness.report();
    failure = new Error('gone again');
    await readiness.report();
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });

  it('reports a part as unavailable if it does not answer within 2 s', async () => {
    const readiness = new Readiness();
    readiness.register('silent', () => new Promise(() => {}));
    expect(await readiness.report()).toMatchObject({
      status: 'not-ready',
      parts: { silent: { state: 'unavailable' } },
    });
  });

  it('probes each part once for concurrent requests', async () => {
    const readiness = new Readiness();
    let probes = 0;
    readiness.register('a', () => {
      probes++;
      return { state: 'ok' };
    });
    await Promise.all([readiness.report(), readiness.report(), readiness.report()]);
    expect(probes).toBe(1);
    await readiness.report();
    expect(probes).toBe(2);
  });

  it('reports that the process is stopping', async () => {
    const readiness = new Readiness();
    readiness.stopping = true;
    expect((await readiness.report()).status).toBe('stopping');
  });
});
