import type { Bench } from './goal.js';
import type { Answers, Volley } from './load-generator.js';
import type { Slice } from './paired.js';
import { askChild, startChild } from './process.js';

/** The process of the load generator. */
export interface Load {
  fire(volley: Volley): Promise<Answers>;
}

export const startLoad = async (bench: Bench): Promise<Load> => {
  const child = await startChild('bench/load-generator.js');
  bench.onEnd(child.stop);
  return { fire: (volley) => askChild(child, volley) };
};

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
}

/** Returns a request as the text of HTTP/1.1. */
export const wire = (url: string, key: string, { method, path, body, type = 'application/json' }: Request): string => {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, `X-API-KEY: ${key}`];
  if (body !== undefined) head.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`);
  return `${head.join('\r\n')}\r\n\r\n${text}`;
};

/** A slice of requests. `onAnswers` gets the figures of each slice. */
export const volleys =
  (
    load: Load,
    url: string,
    requests: readonly string[],
    connections: number,
    onAnswers?: (a: Answers) => void,
    awake = false,
  ): Slice =>
  async (ms) => {
    const { hostname, port } = new URL(url);
    const answers = await load.fire({ host: hostname, port: Number(port), requests, connections, ms, awake });
    onAnswers?.(answers);
    return answers.perSecond;
  };

/** Sends one request and returns the JSON of the response. */
export const askOnce = async (url: string, key: string, { method, path, body, type = 'application/json' }: Request) => {
  const headers: Record<string, string> = { 'x-api-key': key };
  if (body !== undefined) headers['content-type'] = type;
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as unknown;
};
