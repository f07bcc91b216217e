import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Deployment } from '../../support/deployment.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { freePort } from '../../support/free-port.js';
import { sharedDatabase } from '../../support/open-for-tests.js';
import { type Program, startProgram } from '../../support/program.js';
import { answering } from '../../support/receiver.js';

const REFUSED = 'ECONNREFUSED on a new connection';
const RESET_AT_THE_DOOR = 'ECONNRESET on a new connection';

const database = sharedDatabase();

const startService = async (): Promise<{ service: Program; url: string }> => {
  const service = startProgram('src/main.js', [], {
    env: { DATABASE_URL: database.url, PORT: '0', ACCESS_LOG: 'off' },
  });
  return { service, url: await service.listening() };
};

const get = (url: string, agent: Agent): Promise<string> =>
  new Promise((resolve) => {
    const clientRequest = request(url, { agent }, (response) => {
      response.resume().on('end', () => resolve(String(response.statusCode)));
    });
    clientRequest
      .on('error', (error: NodeJS.ErrnoException) =>
        resolve(`${error.code} on ${clientRequest.reusedSocket ? 'an open' : 'a new'} connection`),
      )
      .end();
  });

describe('A process that is asked to stop', () => {
  /** Fifty clients send requests without a break while the process stops. */
  const outcomesOfAStop = async (): Promise<Map<string, number>> => {
    const { service, url } = await startService();
    const agent = new Agent({ keepAlive: true, maxSockets: 50 });
    const outcomes = new Map<string, number>();
    let isOver = false;
    const clients = Array.from({ length: 50 }, async () => {
      while (!isOver) {
        const outcome = await get(`${url}/health/live`, agent);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        // Nothing listens any more. A real client would go to another instance.
        if (outcome.startsWith('ECONNREFUSED')) return;
        // The pause of a real client. Fifty clients without a pause would keep the service from the processor.
        await sleep(5);
      }
    });
    await eventually('more than 100 requests have been answered', () => (outcomes.get('200') ?? 0) > 100);
    const code = await service.stop();
    isOver = true;
    await Promise.all(clients);
    agent.destroy();
    expect(code).toBe(0);
    return outcomes;
  };

  it('resets no connection, answers every accepted request, and exits with 0', async () => {
    // The kernel may reset a connection that arrives at the very moment of closing instead of refusing it. Usually this
    // affects a few connections, and dozens if the machine takes the processor away at that moment. Without the
    // graceful shutdown, it affects dozens each time.
    const resets: number[] = [];
    do {
      const outcomes = await outcomesOfAStop();
      resets.push(outcomes.get(RESET_AT_THE_DOOR) ?? 0);
      const unexpectedOutcomes = [...outcomes.keys()].filter(
        (outcome) => outcome !== REFUSED && outcome !== RESET_AT_THE_DOOR,
      );
      expect(unexpectedOutcomes).toEqual(['200']);
    } while (resets.at(-1)! >= 5 && resets.length < 6);
    expect(Math.min(...resets)).toBeLessThan(5);
  });

  it('is not ready while it still responds, and does not wait for connections that never sent anything', async () => {
    const { service, url } = await startService();
    const silentConnection = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    silentConnection.on('data', (chunk: Buffer) => (received += chunk.toString()));
    await once(silentConnection, 'connect');
    const ended = service.stop();
    const statuses = new Set<number>();
    for (let attemptsLeft = 100; attemptsLeft > 0 && !statuses.has(503); attemptsLeft--) {
      const response = await fetch(`${url}/health/ready`).catch(() => undefined);
      if (response === undefined) break;
      statuses.add(response.status);
      if (response.status === 503) {
        expect(response.headers.get('connection')).toBe('close');
        expect(await response.json()).toMatchObject({ status: 'stopping' });
      }
    }
    expect(statuses).toContain(503);
    expect(await ended).toBe(0);
    // If the service waited for this connection, the timeout for headers would end it with a 408.
    expect(received).toBe('');
    silentConnection.destroy();
  });

  it('answers the next request of an idle keep-alive connection with Connection: close', async () => {
    const { service, url } = await startService();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await get(`${url}/health/live`, agent)).toBe('200');
    const ended = service.stop();
    await eventually('nothing listens', async () => (await get(`${url}/health/live`, new Agent())) === REFUSED);
    expect(await get(`${url}/health/live`, agent)).toBe('200');
    expect(await get(`${url}/health/live`, agent)).toBe(REFUSED);
    agent.destroy();
    expect(await ended).toBe(0);
  });

  it('exits at once at the second signal', async () => {
    const { service } = await startService();
    service.process.kill('SIGTERM');
    await eventually('the process logs that it stops', () => service.output().includes('SIGTERM: '));
    expect(await service.stop()).toBe(1);
  });

  it('ends with its parent process', async () => {
    const { service } = await startService();
    service.process.disconnect();
    expect(await service.ended()).not.toBeNull();
  });
});

describe('A delivery process that is asked to stop', () => {
  it('holds its lease until the last request has ended, so that the next process repeats none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'graceful-'));
    const keyFile = join(folder, 'master-key');
    writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    const env = { DATABASE_URL: database.url, WEBHOOK_MASTER_KEY_FILE: keyFile, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' };
    const deployment = new Deployment(env);
    await deployment.start();
    const port = await freePort();
    const standby = startProgram('src/deliver.js', [], { env: { ...env, DELIVERIES_OPS_PORT: String(port) } });
    try {
      await eventuallyPasses(async () =>
        expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200),
      );
      const { receiver } = deployment;
      const sentWith = (threatId: string): number =>
        receiver.received.filter(({ body }) => body.includes(threatId)).length;
      // The process waits 4 s for it, and its lease lasts 3 s.
      receiver.react = (_, response) => void setTimeout(() => response.writeHead(204).end(), 3_700);
      await deployment.post('slow-one');
      await eventually('the request is sent', () => sentWith('slow-one') > 0);
      expect(await deployment.programOf('src/deliver.js').stop()).toBe(0);
      receiver.react = answering(204);
      await deployment.post('next-one');
      await eventually('the next process delivers', () => sentWith('next-one') > 0);
      expect(sentWith('slow-one')).toBe(1);
    } finally {
      await Promise.all([standby.end(), deployment.end()]);
      rmSync(folder, { recursive: true });
    }
  }, 120_000);
});
