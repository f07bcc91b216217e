import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Unavailable } from '../../../src/errors.js';
import { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { signingKey } from '../../../src/webhooks/secrets.js';
import { AppliedWebhookCommands, WebhookCommands } from '../../../src/webhooks/webhook-commands.js';
import type { Webhook } from '../../../src/events/types/organizations.js';
import { Rig } from '../../support/delivery-rig.js';
import { eventually } from '../../support/eventually.js';
import { sized } from '../../support/full-size.js';
import { answering, Receiver, type Received } from '../../support/receiver.js';

const ROTATIONS = sized(5, 1_000);
// Each rotation waits about half a second until no delivery uses the ended secret.
jest.setTimeout(30_000 + 2_000 * ROTATIONS);

let rig: Rig;
let receiver: Receiver;
let webhook: Webhook;
let changes: AppliedWebhookCommands;
/** The newest generation of the secret whose rotation was answered. */
let answered = 1;

beforeEach(async () => {
  rig = await Rig.start();
  receiver = new Receiver();
  webhook = await rig.endpoint(await receiver.start());
  const { log, database } = rig;
  changes = new AppliedWebhookCommands(new WebhookCommands(log, database.pool), new Checkpoints(database.pool), log);
  answered = 1;
});
afterEach(async () => {
  await receiver.stop();
  await rig.end();
});

const MARK_LENGTH = 8;

const rotate = async (): Promise<void> => {
  const { organization, webhookId } = webhook;
  const masterKey = rig.keys.newest().id;
  const { result } = await changes.execute({ type: 'Rotate', organization, webhookId, masterKey, force: true }, {});
  answered = result.webhook.generation;
};

/** The generations of the secrets, up to the newest one, that have signed a request; rotations may be unanswered. */
const signersOf = ({ headers, body }: Received): number[] =>
  Array.from({ length: answered + 3 }, (_, n) => n + 1).filter((generation) => {
    const key = signingKey(rig.keys.newest(), { webhookId: webhook.webhookId, generation });
    const mac = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
    return String(headers['webhook-signature']).includes(mac.digest('base64'));
  });

describe('A delivery', () => {
  it('is not signed with an ended secret, even if it read the endpoint before the secret ended', async () => {
    await rig.deliver();
    await rig.block(['t0']);
    await eventually('the first delivery', () => receiver.received.length === 1);
    await rotate();
    let release: () => void = () => {};
    const isAnswered = new Promise<void>((resolve) => (release = resolve));
    const has = rig.log.has.bind(rig.log);
    let isHeld = false;
    jest.spyOn(rig.log, 'has').mockImplementation(async (place) => {
      // The projector asks with the whole id of an event, a delivery with its mark.
      if (place.event.length > MARK_LENGTH) return has(place);
      isHeld = true;
      await isAnswered;
      return has(place);
    });
    await rig.block(['t1']);
    await eventually('a delivery that has read the endpoint', () => isHeld);
    await rotate();
    release();
    await eventually('the second delivery', () => receiver.received.length === 2);
    expect(receiver.received.map(signersOf)).toEqual([[1], [2, 3]]);
  });

  it('is not signed with an ended secret after any of many rotations was answered', async () => {
    const wrong: number[][] = [];
    let received = 0;
    receiver.react = (one, ...rest) => {
      const signers = signersOf(one);
      if (Math.min(...signers) < answered - 1) wrong.push([answered, ...signers]);
      received += 1;
      receiver.received.length = 0;
      answering(204)(one, ...rest);
    };
    await rig.deliver();
    let isDone = false;
    const sending = (async () => {
      for (let n = 0; !isDone; n += 1) {
        const before = received;
        await rig.block(Array.from({ length: 5 }, (_, i) => `t${n}-${i}`));
        await eventually('a delivery', () => received > before);
      }
    })();
    let unanswered = 0;
    for (let n = 0; n < ROTATIONS; n += 1)
      await rotate().catch((error: unknown) => {
        // On a busy machine, the projector may need longer than a response waits.
        if (!(error instanceof Unavailable)) throw error;
        unanswered += 1;
      });
    isDone = true;
    await sending;
    expect(wrong).toEqual([]);
    expect([received > ROTATIONS, unanswered < ROTATIONS / 2]).toEqual([true, true]);
  });
});
