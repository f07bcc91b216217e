import type { Recorded } from '../../../src/http/reference/examples.js';
import { type DeclaredOperation, readReference, UNDECLARED } from '../../support/contract.js';
import type { Ask } from './cases.js';
import { sendRaw } from '../../support/raw.js';
import { WEBHOOK } from './scene.js';
import { TOKEN } from './token.js';

/** An operation as it is asked for. */
export interface Address {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly operation: DeclaredOperation;
}

export const readAddresses = (): Address[] => {
  const { paths } = readReference();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      return { id: operation.operationId!, method: method.toUpperCase(), path, operation };
    }),
  );
};

let newestToken = TOKEN;

/** What differs each time, and what stands for it in the examples. */
const HEADERS: Readonly<Record<string, string>> = {
  'consistency-token': TOKEN,
  'x-as-of': '2026-03-02T15:00:00.000Z',
  'ratelimit-remaining': '5990',
  'ratelimit-reset': '42',
  'retry-after': '1',
};
const VOLATILE: readonly (readonly [field: RegExp, value: unknown])[] = [
  [
    /^(?:since|watchedSince|resetsAt|startedAt|changedAt|fetchedAt|loadedAt|lastAt|storedAt)$/,
    '2026-03-03T00:00:00.000Z',
  ],
  [/^(?:resetSeconds|age\w*)$/, 42],
  [/^(?:head|position)$/, '1042'],
  [/^lagSeconds$/, 0],
  [/^(?:remaining|known|freeBytes|totalBytes|size)$/, 5_990],
  [/^left$/, 9_999_990],
];

/** Of a webhook that was made meanwhile. */
const ofWebhook = (value: object): object => {
  if (!/^wh_[0-9a-f]{24}$/.test(String((value as { id?: unknown }).id))) return value;
  const constants = {
    id: WEBHOOK,
    secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    createdAt: '2026-03-03T00:00:00.000Z',
    updatedAt: '2026-03-03T00:00:00.000Z',
    previousSecretUntil: '2026-03-04T00:00:00.000Z',
  };
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, constants[name as keyof typeof constants] ?? each]),
  );
};

const steady = (value: unknown, field = '', within = ''): unknown => {
  const constant = typeof value === 'object' ? undefined : VOLATILE.find(([each]) => each.test(field));
  if (constant) return constant[1];
  if (within === 'key' && field === 'id') return 'key_8f2c';
  if (field === 'nextCursor') return 'q83vASNFZ4mrze8BlM0uK2hS9dXf1YbQ7pT3wZkVnE4rGyLtUoJmCiAxHsDv5N6';
  if (field === 'id' && /^[\w-]{8}\.[\w-]{22}$/.test(String(value))) return 'fQ3zv2Lk.5n0b1Zx8c7V6b5N4m3M2a1';
  if (field === 'time' && within === '') return '2026-03-02T15:00:00.000Z';
  if (field === 'bytes' && typeof value === 'number') return 5_990;
  if (field === 'keyId') return 'key_8f2c4d6e8a0b1c2d';
  if (field === 'day' && within === '') return '2026-03-03';
  // How late things are depends on the machine.
  if (value === 'degraded') return field === 'state' ? 'ok' : 'ready';
  if (Array.isArray(value)) return value.map((each) => steady(each, '', field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(ofWebhook(value)).map(([name, each]) => [name, steady(each, name, field)]));
};

/** A page of numbers for Prometheus is shown by the first of them. */
const firstMetric = (text: string): string =>
  text
    .split('\n')
    .slice(0, 3)
    .join('\n')
    .replace(/ [\d.e+-]+$/, ' 0.42');

const canonical = (name: string): string =>
  name.replace(/(^|-)(\w)/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
const NAMES: Readonly<Record<string, string>> = {
  'www-authenticate': 'WWW-Authenticate',
  etag: 'ETag',
  'ratelimit-limit': 'RateLimit-Limit',
  'ratelimit-remaining': 'RateLimit-Remaining',
  'ratelimit-reset': 'RateLimit-Reset',
};

export interface Answer extends Pick<Recorded, 'headers' | 'type' | 'body'> {
  readonly status: number;
}

const answerOf = (status: number, headers: Headers, text: string): Answer => {
  const type = headers.get('content-type')?.split(';')[0];
  newestToken = headers.get('consistency-token') ?? newestToken;
  const shown = [...headers].filter(([name]) => !UNDECLARED.has(name));
  return {
    status,
    headers: Object.fromEntries(
      shown.map(([name, value]) => [
        NAMES[name] ?? canonical(name),
        HEADERS[name] ?? value.replace(/wh_[0-9a-f]{24}$/, WEBHOOK),
      ]),
    ),
    ...(type !== undefined && { type }),
    body: type?.endsWith('json') ? steady(JSON.parse(text)) : text.startsWith('# HELP') ? firstMetric(text) : text,
  };
};

const pathOf = (path: string, { path: values = {}, query }: Ask): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!) + (query === undefined ? '' : `?${query}`);

/** As the reference shows it: without the key, and without what every client sends by itself. */
export const shownRequest = (path: string, ask: Ask): Recorded['request'] => ({
  path: pathOf(path, ask),
  ...(ask.headers && { headers: ask.headers }),
  ...(ask.body !== undefined && { body: ask.body }),
});

/** @param url of the service */
export const send = async (
  url: string,
  { method, path }: Address,
  key: string | undefined,
  ask: Ask,
): Promise<Answer> => {
  const response = await fetch(url + pathOf(path, ask), {
    method,
    headers: {
      'x-request-id': 'example',
      ...(key !== undefined && { 'x-api-key': key }),
      ...(ask.body !== undefined && { 'content-type': 'application/json' }),
      ...ask.headers,
      ...(ask.headers?.['consistency-token'] === TOKEN && { 'consistency-token': newestToken }),
    },
    ...(ask.body !== undefined && { body: typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body) }),
  });
  return answerOf(response.status, response.headers, await response.text());
};

/** The same address with two Host lines, which servers in a row could read in two ways. */
export const sendAmbiguous = async (url: string, { method, path }: Address, ask: Ask): Promise<Answer> => {
  const request = `${method} ${pathOf(path, ask)} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: example\r\n\r\n`;
  const [head = '', body = ''] = (await sendRaw(url, request)).answer.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((each): [string, string] => [each.split(': ')[0]!, each.split(': ')[1]!]));
  return answerOf(Number(line.split(' ')[1]), headers, body);
};
