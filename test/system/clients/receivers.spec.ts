import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { secretText, signedHeaders, deliveryIdOf } from '../../../src/webhooks/secrets.js';
import { eventually } from '../../support/eventually.js';
import { describeWith } from '../../support/tools.js';

const FOLDER = join(import.meta.dirname, '../../../docs/examples');
/** The compiled receiver is next to the packages, like a user's own receiver. */
const COMPILED = join(import.meta.dirname, `../../../node_modules/.receive-${process.pid}.mjs`);
const [own, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
};

let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(COMPILED, { force: true });
});

const hasPython = spawnSync('python3', ['--version']).error === undefined;
describeWith(hasPython, 'python3 (apt-get install python3)')('The receiver of docs/examples', () => {
  it.each(['ts', 'py'])('in %s accepts each signed delivery once, and rejects all other requests', async (language) => {
    const source = join(FOLDER, `receive.${language}`);
    if (language === 'ts') {
      const jsc = { parser: { syntax: 'typescript' as const }, target: 'es2022' as const };
      writeFileSync(COMPILED, transformSync(readFileSync(source, 'utf8'), { jsc }).code);
    }
    const port = await freePort();
    const [program, script] = language === 'ts' ? [process.execPath, COMPILED] : ['python3', source];
    child = spawn(program, [script, String(port)], {
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secretText(own) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let printed = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const body = (subject: string): Buffer => Buffer.from(JSON.stringify({ subject, name: 'Ü' }));
    const post = async (content: Buffer, headers: Readonly<Record<string, string>>): Promise<number> =>
      (
        await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          body: new Uint8Array(content),
          headers,
          signal: AbortSignal.timeout(5_000),
        })
      ).status;
    const now = Date.now();
    const signed = (content: Buffer, secrets = [own], at = now) =>
      signedHeaders(secrets, deliveryIdOf('wh1', content), at, content);
    await eventually('it listens', async () => {
      const probe = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
      return probe !== undefined;
    });
    const one = body('t1');
    expect(await post(one, signed(one))).toBe(204);
    expect(await post(one, signed(one))).toBe(204);
    expect(await post(body('t2'), signed(one))).toBe(401);
    expect(await post(one, { ...signed(one), 'webhook-id': 'msg_other' })).toBe(401);
    expect(await post(body('t3'), signed(body('t3'), [own], now - 360_000))).toBe(401);
    expect(await post(body('t4'), signed(body('t4'), [other]))).toBe(401);
    const batch = Buffer.from(`[${body('t5').toString()},${body('t6').toString()}]`);
    expect(await post(batch, signed(batch, [other, own]))).toBe(204);
    await eventually('the receiver has printed', () => printed.includes('t6'));
    expect(printed).toBe('t1\nt5\nt6\n');

    // A sender that is killed in the middle of a request, and one that says nothing, keep no other waiting.
    const aborted = connect(port, '127.0.0.1');
    aborted.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{', () => aborted.destroy());
    await once(aborted, 'close');
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    const last = body('t7');
    expect(await post(last, signed(last))).toBe(204);
    silent.destroy();
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  });
});
