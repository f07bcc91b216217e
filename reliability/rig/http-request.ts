import { Agent, request } from 'node:http';

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: any;
  /** The time from the start of the request to the end of the response, in ms. */
  readonly ms: number;
}

export interface HttpRequest {
  /** Default: POST with a body, otherwise GET. */
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The media type of the body. */
  readonly type?: string;
  /** The body as a JSON value. */
  readonly json?: unknown;
  /** The body as a batch of CloudEvents. */
  readonly events?: readonly object[];
  readonly agent?: Agent;
  readonly timeoutMs?: number;
}

const shared = new Agent({ keepAlive: true, maxSockets: 64 });
export const BATCH = 'application/cloudevents-batch+json';

/** Sends one HTTP request. @throws Error if the connection fails or the timeout expires */
export const sendRequest = (
  url: string,
  {
    key,
    headers,
    json,
    events,
    body = json === undefined && events === undefined ? undefined : JSON.stringify(json ?? events),
    type = events === undefined ? 'application/json' : BATCH,
    method = body === undefined ? 'GET' : 'POST',
    agent = shared,
    timeoutMs = 20_000,
  }: HttpRequest = {},
): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const begin = performance.now();
    const sent = request(url, {
      method,
      agent,
      headers: {
        ...headers,
        ...(key !== undefined && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
      },
    });
    const timer = setTimeout(() => sent.destroy(new Error(`No response within ${timeoutMs} ms`)), timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    sent.on('error', fail);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        clearTimeout(timer);
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = String(response.headers['content-type']).includes('json');
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: isJson && text !== '' ? JSON.parse(text) : text,
          ms: performance.now() - begin,
        });
      });
    });
    sent.end(body);
  });

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};
