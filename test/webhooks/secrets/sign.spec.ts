import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { secretText, signedHeaders, deliveryIdOf } from '../../../src/webhooks/secrets.js';

const [own, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
const body = Buffer.from('{"subject":"t1","data":"Ü"}');
const id = deliveryIdOf('wh1', body);

describe('A signature', () => {
  const headers = signedHeaders([own], id, Date.now(), body);
  const verify = (secret: Buffer, changed: Record<string, string> = {}, content = body): unknown =>
    new Webhook(secretText(secret)).verify(content.toString(), { ...headers, ...changed });

  it('is verified by the standardwebhooks library', () => {
    expect(verify(own)).toEqual(JSON.parse(body.toString()));
  });

  it('does not match another body, id, timestamp or secret', () => {
    expect(() => verify(own, {}, Buffer.from('{"subject":"t2"}'))).toThrow(/signature/);
    expect(() => verify(own, { 'webhook-id': `${id}x` })).toThrow(/signature/);
    expect(() => verify(own, { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) })).toThrow(/sig/);
    expect(() => verify(other)).toThrow(/signature/);
  });

  it('is rejected by the standardwebhooks library after six minutes', () => {
    const old = signedHeaders([own], id, Date.now() - 6 * 60_000, body);
    expect(() => verify(own, old)).toThrow(/too old/);
  });

  it('is sent for both secrets during a rotation, and either secret verifies the delivery', () => {
    const both = signedHeaders([own, other], id, Date.now(), body);
    expect(both['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    for (const secret of [own, other]) expect(verify(secret, both)).toBeDefined();
  });
});

describe('A webhook-id', () => {
  it('is the same for the same endpoint and body, differs otherwise, and contains no dot', () => {
    expect(deliveryIdOf('wh1', Buffer.from(body))).toBe(id);
    expect(deliveryIdOf('wh2', body)).not.toBe(id);
    expect(deliveryIdOf('wh1', Buffer.from('{}'))).not.toBe(id);
    for (let n = 0; n < 100; n += 1) expect(deliveryIdOf('wh1', Buffer.from([n]))).toMatch(/^msg_[\w-]{24}$/);
  });
});
