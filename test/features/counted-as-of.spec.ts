import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import type { Answer } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { startProjecting } from '../support/projecting.js';
import { cloudEvent, sentThreat } from '../support/upstream.js';

const threat = (threatId: string): object => cloudEvent(sentThreat(threatId));

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp({ env: { INGEST_EVENTS_PER_DAY: '1' } });
  key = await app.issueKey({ scopes: ['ingest'] });
});
afterAll(() => app.close());

const send = (events: object[], as = key): Promise<Answer> =>
  app.call('/v2/events', {
    key: as,
    json: events,
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  });
const asOf = ({ headers }: Answer): number => Date.parse(headers.get('x-counted-as-of') ?? 'absent');

describe('X-Counted-As-Of', () => {
  it('is absent while no projector runs, stands still when it stops, and catches up with what was acknowledged', async () => {
    expect((await send([threat('t-1')])).headers.has('x-counted-as-of')).toBe(false);
    const first = startProjecting(app.log, app.pool);
    await first.reached();
    await eventually('it is known', async () => !Number.isNaN(asOf(await send([threat('t-2')]))));
    await first.stop();
    await sleep(150);
    const stopped = asOf(await send([threat('t-3')]));
    await sleep(150);
    const acknowledged = Date.now();
    expect(asOf(await send([threat('t-3')]))).toBe(stopped);
    expect(stopped).toBeLessThan(acknowledged);
    const second = startProjecting(app.log, app.pool);
    await eventually('what was acknowledged is counted', async () => asOf(await send([])) > acknowledged);
    await second.stop();
  });

  it('is on refusals that say what became of the events', async () => {
    const own = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
    for (const [status, events] of [
      [400, [{}]],
      [429, [threat('t-4'), threat('t-5')]],
    ] as const) {
      const answer = await send(events as unknown as object[], own);
      expect([answer.status, Number.isNaN(asOf(answer))]).toEqual([status, false]);
    }
  });
});
