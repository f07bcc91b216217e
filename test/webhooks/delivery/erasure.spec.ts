import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ROW_STEPS } from '../../../src/read-models/erasures.js';
import { WebhookCommands } from '../../../src/webhooks/webhook-commands.js';
import { eventually } from '../../support/eventually.js';
import { operatorCall } from '../../support/operator-call.js';
import { rowsOfAcme, SECRET } from '../../support/two-organizations.js';
import { answering, Receiver } from '../../support/receiver.js';
import { Rig } from '../../support/delivery-rig.js';

// An erasure waits 2.5 s until every process knows of it.
jest.setTimeout(60_000);

let rig: Rig;
let receiver: Receiver;
let url: string;

beforeEach(async () => {
  rig = await Rig.start();
  receiver = new Receiver();
  url = await receiver.start();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await receiver.stop();
  await rig.end();
});

describe('A delivery in flight while its organization is erased', () => {
  it('leaves nothing of the organization, whatever the response, and the other deliveries go on', async () => {
    const held: { readonly path: string; readonly answer: () => void }[] = [];
    const answerHeld = (path: string): void => {
      for (const each of held) if (each.path.startsWith(path)) each.answer();
    };
    receiver.react = (received, response, request) => {
      const { path } = received;
      const answer = (): void => answering(Number(path.split('/').at(-1)))(received, response, request);
      if (path.startsWith('/at-once')) answer();
      else held.push({ path, answer });
    };
    for (const path of ['during/410', 'after/204', 'after/503', 'after/410'])
      await rig.endpoint(`${url}/${path}`, { webhookId: `${SECRET}-${path.replace('/', '-')}` });
    const tested = await rig.endpoint(`${url}/after/test/204`, { webhookId: `${SECRET}-test`, state: 'DISABLED' });
    await rig.endpoint(`${url}/at-once/204`, { organization: 'acme-2' });
    const { stop, warnings } = await rig.deliver();
    await rig.block([`${SECRET}-1`]);
    await rig.askForTest(tested, Date.now());
    await eventually('four deliveries and a test are held', () => held.length === 5);

    // One response arrives after the events were erased, and before the rows of the endpoint are deleted.
    const disabling = jest.spyOn(WebhookCommands.prototype, 'execute');
    const { erase } = ROW_STEPS[0]!;
    const run = erase.run.bind(erase);
    jest.spyOn(erase, 'run').mockImplementationOnce(async (...values) => {
      answerHeld('/during');
      await eventually('the endpoint is gone', () => disabling.mock.results.length === 1);
      await Promise.allSettled(disabling.mock.results.map(({ value }) => value as Promise<unknown>));
      return run(...values);
    });
    const { database } = rig;
    const words = ['organizations', 'erase', 'acme', '--confirm', 'acme'];
    expect(await operatorCall({ DATABASE_URL: database.url }, ...words)).toMatchObject({ code: 0 });
    answerHeld('/after');
    await rig.block(['t-2'], 'acme-2');
    await eventually('acme-2 has its record', () => receiver.subjects.includes('t-2'));
    await eventually('all outcomes are counted', async () => {
      const [row] = await rig.rows<{ attempts: number }>(
        'select sum(attempts)::int as attempts from service.webhook_outcomes',
      );
      return row!.attempts === 5;
    });
    await stop();
    expect(disabling).toHaveBeenCalledTimes(2);
    expect(await rowsOfAcme(database.pool)).toEqual([]);
    expect(warnings).toEqual([]);
    expect(held).toHaveLength(5);
  });
});
