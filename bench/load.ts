import type { Bench } from './goal.js';
import type { LoadResult, LoadOptions } from './load-generator.js';
import type { Slice } from './paired.js';
import { sendToChild, startChild } from './process.js';

/** The process of the load generator. */
export interface Load {
  run(options: LoadOptions): Promise<LoadResult>;
}

export const startLoad = async (bench: Bench): Promise<Load> => {
  const child = await startChild('bench/load-generator.js');
  bench.onEnd(child.stop);
  return { run: (options) => sendToChild(child, options) };
};

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
}

/** Returns the bytes of an HTTP/1.1 request as text. */
export const rawRequest = (
  url: string,
  key: string,
  { method, path, body, type = 'application/json' }: Request,
): string => {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, `X-API-KEY: ${key}`];
  if (body !== undefined) head.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`);
  return `${head.join('\r\n')}\r\n\r\n${text}`;
};

/** A slice of requests to one server. @param onResult called with the figures of each slice */
export const loadSlice =
  (
    load: Load,
    url: string,
    requests: readonly string[],
    connections: number,
    onResult?: (result: LoadResult) => void,
    busyWaits = false,
  ): Slice =>
  async (ms) => {
    const { hostname, port } = new URL(url);
    const result = await load.run({ host: hostname, port: Number(port), requests, connections, ms, busyWaits });
    onResult?.(result);
    return result.perSecond;
  };

/** Sends one request and returns the JSON of the response. */
export const requestJson = async (
  url: string,
  key: string,
  { method, path, body, type = 'application/json' }: Request,
) => {
  const headers: Record<string, string> = { 'x-api-key': key };
  if (body !== undefined) headers['content-type'] = type;
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: 'error',
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
  return JSON.parse(text) as unknown;
};
