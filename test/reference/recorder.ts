import type { Recorded } from '../../src/http/reference/examples.js';
import { type DeclaredOperation, readReference, UNDECLARED } from '../support/contract.js';
import type { Ask } from './cases.js';
import { sendRaw } from './scene.js';

/** An operation as it is asked for. */
export interface Address {
  readonly id: string;
  readonly method: string;
  /** Below its server. */
  readonly path: string;
  readonly base: string;
  readonly operation: DeclaredOperation;
}

export const readAddresses = (): Address[] => {
  const { paths, servers } = readReference();
  return Object.entries(paths).flatMap(([path, { servers: own, ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => {
      const base = own === undefined ? servers[0]!.url : '';
      return { id: operation.operationId!, method: method.toUpperCase(), path, base, operation };
    }),
  );
};

/** What differs each time, and what stands for it in the examples. */
const HEADERS: Readonly<Record<string, string>> = {
  'x-as-of': '2026-03-02T15:00:00.000Z',
  'ratelimit-remaining': '5990',
  'ratelimit-reset': '42',
  'retry-after': '1',
};
const VOLATILE: readonly (readonly [field: RegExp, value: unknown])[] = [
  [/^(?:since|watchedSince|resetsAt|startedAt|changedAt|fetchedAt|loadedAt)$/, '2026-03-03T00:00:00.000Z'],
  [/^(?:resetSeconds|age\w*)$/, 42],
  [/^(?:head|position)$/, '1042'],
  [/^lagSeconds$/, 0],
  [/^(?:remaining|known|freeBytes|totalBytes|bytes|size)$/, 5_990],
];

const steady = (value: unknown, field = '', within = ''): unknown => {
  const constant = typeof value === 'object' ? undefined : VOLATILE.find(([each]) => each.test(field));
  if (constant) return constant[1];
  if (within === 'key' && field === 'id') return 'key_8f2c';
  // How late things are depends on the machine.
  if (value === 'degraded') return field === 'state' ? 'ok' : 'ready';
  if (Array.isArray(value)) return value.map((each) => steady(each, '', field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, steady(each, name, field)]));
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
  const shown = [...headers].filter(([name]) => !UNDECLARED.has(name));
  return {
    status,
    headers: Object.fromEntries(shown.map(([name, value]) => [NAMES[name] ?? canonical(name), HEADERS[name] ?? value])),
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
  { method, base, path }: Address,
  key: string | undefined,
  ask: Ask,
): Promise<Answer> => {
  const response = await fetch(url + base + pathOf(path, ask), {
    method,
    headers: {
      'x-request-id': 'example',
      ...(key !== undefined && { 'x-api-key': key }),
      ...(ask.body !== undefined && { 'content-type': 'application/json' }),
      ...ask.headers,
    },
    ...(ask.body !== undefined && { body: typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body) }),
  });
  return answerOf(response.status, response.headers, await response.text());
};

/** The same address with two Host lines, which servers in a row could read in two ways. */
export const sendAmbiguous = async (url: string, { method, base, path }: Address, ask: Ask): Promise<Answer> => {
  const request = `${method} ${base}${pathOf(path, ask)} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: example\r\n\r\n`;
  const { status, headers, body } = await sendRaw(url, request);
  return answerOf(status, headers, body);
};
