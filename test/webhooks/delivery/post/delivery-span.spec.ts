import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../../../src/runtime/config.js';
import { startOpenTelemetry } from '../../../../src/runtime/opentelemetry.js';
import { setTracing } from '../../../../src/runtime/tracing.js';
import { eventually } from '../../../support/eventually.js';
import { Collector } from '../../../runtime/tracing/collector.js';
import { Receiver } from '../../../support/receiver.js';
import { Rig } from '../../../support/delivery-rig.js';

let rig: Rig;
let receiver: Receiver;
const collector = new Collector();
const before = process.env;

beforeEach(async () => {
  rig = await Rig.start();
  receiver = new Receiver();
  process.env = { ...before, OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(), OTEL_BSP_SCHEDULE_DELAY: '10' };
  setTracing(startOpenTelemetry('deliveries', readConfig().sampling!, () => {}));
});
afterEach(async () => {
  setTracing(undefined);
  process.env = before;
  await receiver.stop();
  await rig.end();
  await collector.stop();
});

describe('The span of a delivery', () => {
  it('is propagated to the receiver, and does not contain the path, the query or the body of the request', async () => {
    const url = await receiver.start();
    const webhook = await rig.endpoint(`${url}/hidden-path?token=hidden-query`);
    await rig.deliver();
    await rig.block(['hidden-record']);
    await eventually('one request', () => receiver.received.length === 1);
    const { headers } = receiver.received[0]!;
    await eventually('the span of the delivery has arrived', () => collector.named('POST webhook').length === 1);
    const [span] = collector.named('POST webhook');
    expect(span).toMatchObject({
      name: 'POST webhook',
      kind: 3,
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 204,
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(url).port),
        'messaging.destination.name': webhook.webhookId,
        'messaging.message.id': headers['webhook-id'],
      },
    });
    expect(headers['traceparent']).toBe(`00-${span!.traceId}-${span!.spanId}-01`);
    expect(Buffer.concat(collector.bodies).toString('latin1')).not.toContain('hidden');
  });
});
