import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app.js';

/** Who sends a byte now and then, for ever, on a thousand connections, keeps nobody else from being answered. */

const SLOW_HEADERS = 1_000;
const SLOW_BODIES = 200;
const BYTE_EVERY_MS = 1_000;
/** The limits are 5 s for headers and 10 s for a whole request; a busy machine looks later. */
const CUT_WITHIN_MS = 30_000;

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  key = await app.issueKey({ organization: 'acme' });
});
afterAll(() => app.close());

interface Slow {
  readonly socket: Socket;
  readonly cut: Promise<string>;
}

const send = (head: string, drop: string): Slow => {
  const { hostname, port } = new URL(app.url);
  let timer: NodeJS.Timeout | undefined;
  const socket = connect(Number(port), hostname, () => {
    socket.write(head);
    timer = setInterval(() => socket.writable && socket.write(drop), BYTE_EVERY_MS);
  });
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString())).on('error', () => {});
  const cut = new Promise<string>((resolve) =>
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    }),
  );
  return { socket, cut };
};

it(`cuts off ${SLOW_HEADERS} slow headers and ${SLOW_BODIES} slow bodies, and answers everybody else meanwhile`, async () => {
  const post =
    `POST /v2/organization/asset-groups HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{';
  const slow = [
    ...Array.from({ length: SLOW_HEADERS }, (_, i) => send(`GET /health/live HTTP/1.1\r\nHost: a\r\nX-${i}: `, 'a')),
    ...Array.from({ length: SLOW_BODIES }, () => send(post, ' ')),
  ];
  let left = slow.length;
  for (const { cut } of slow) void cut.then(() => (left -= 1));
  const answered: number[] = [];
  for (const until = Date.now() + CUT_WITHIN_MS; left > 0 && Date.now() < until; await sleep(20)) {
    const { status } = await fetch(`${app.url}/v2/organization/metrics`, { headers: { 'x-api-key': key } });
    answered.push(status);
  }
  for (const { socket } of slow) socket.destroy();
  expect(left).toBe(0);
  expect(answered.length).toBeGreaterThan(50);
  expect(answered.filter((status) => status !== 200)).toEqual([]);
  const answers = await Promise.all(slow.map(({ cut }) => cut));
  expect(answers.filter((answer) => !answer.startsWith('HTTP/1.1 408 '))).toEqual([]);
}, 60_000);
