import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const MAIN = join(import.meta.dirname, '../../dist/src/main.js');

// A process has to start.
jest.setTimeout(120_000);

const REFUSED = 'ECONNREFUSED on a new connection';
const RESET_AT_THE_DOOR = 'ECONNRESET on a new connection';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database?.drop());

const startService = async (): Promise<{ service: ChildProcess; url: string }> => {
  const service = spawn(process.execPath, [MAIN], {
    env: { ...process.env, DATABASE_URL: database.url, PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [told] = (await once(service, 'message')) as [{ url: string }];
  return { service, url: told.url };
};

const get = (url: string, agent: Agent): Promise<string> =>
  new Promise((resolve) => {
    const asked = request(url, { agent }, (response) => {
      response.resume().on('end', () => resolve(String(response.statusCode)));
    });
    asked
      .on('error', (error: NodeJS.ErrnoException) =>
        resolve(`${error.code} on ${asked.reusedSocket ? 'an open' : 'a new'} connection`),
      )
      .end();
  });

describe('A process that is asked to stop', () => {
  it('resets nobody and refuses nobody it has let in, and ends well', async () => {
    const { service, url } = await startService();
    const agent = new Agent({ keepAlive: true, maxSockets: 50 });
    const outcomes = new Map<string, number>();
    let over = false;
    const clients = Array.from({ length: 50 }, async () => {
      while (!over) {
        const outcome = await get(`${url}/health/live`, agent);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        // Nobody listens any more: this client would go to another instance.
        if (outcome.startsWith('ECONNREFUSED')) return;
        await sleep(5);
      }
    });
    await sleep(300);
    service.kill('SIGTERM');
    const [code] = (await once(service, 'exit')) as [number | null];
    over = true;
    await Promise.all(clients);
    agent.destroy();
    expect(code).toBe(0);
    // Who comes at the very moment of closing may be reset by the kernel instead of refused; dozens without the care.
    expect(outcomes.get(RESET_AT_THE_DOOR) ?? 0).toBeLessThan(5);
    const others = [...outcomes.keys()].filter((outcome) => outcome !== REFUSED && outcome !== RESET_AT_THE_DOOR);
    expect(others).toEqual(['200']);
    expect(outcomes.get('200')).toBeGreaterThan(50);
  });

  it('does not wait for a connection on which nothing was ever sent', async () => {
    const { service, url } = await startService();
    const silent = connect(Number(new URL(url).port), '127.0.0.1');
    await once(silent, 'connect');
    const begun = Date.now();
    service.kill('SIGTERM');
    const [code] = (await once(service, 'exit')) as [number | null];
    expect(code).toBe(0);
    // Where it is waited for, the time limit for headers is what ends it, after 5 s.
    expect(Date.now() - begun).toBeLessThan(4_000);
    silent.destroy();
  });

  it('is not ready any more while it still answers', async () => {
    const { service, url } = await startService();
    service.kill('SIGTERM');
    const seen = new Set<number>();
    for (let left = 100; left > 0 && !seen.has(503); left--) {
      const response = await fetch(`${url}/health/ready`).catch(() => undefined);
      if (response === undefined) break;
      seen.add(response.status);
      if (response.status === 503) {
        expect(response.headers.get('connection')).toBe('close');
        expect(await response.json()).toMatchObject({ status: 'stopping' });
      }
    }
    expect(seen).toContain(503);
    if (service.exitCode === null) await once(service, 'exit');
    expect(service.exitCode).toBe(0);
  });

  it('ends at once at the second signal', async () => {
    const { service } = await startService();
    service.kill('SIGTERM');
    await sleep(50);
    service.kill('SIGTERM');
    await once(service, 'exit');
    expect(service.exitCode).toBe(1);
  });

  it('ends with whoever started it', async () => {
    const { service } = await startService();
    service.disconnect();
    await once(service, 'exit');
    expect(service.exitCode).not.toBeNull();
  });
});
