import type { Address, Answer } from './recorder.js';
import { send, sendAmbiguous } from './recorder.js';
import type { Ask, Operation } from './cases.js';
import type { Scene } from './scene.js';

/** One answer that routes share, in the words of the reference. */
export interface Refusal {
  readonly status: number;
  readonly summary: string;
  readonly ask: () => Promise<Answer>;
}

const OTHER_SCOPE = { read: 'write', write: 'read', ingest: 'read' } as const;
const OTHER_LOGS_TOKEN = 'AAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA';
const MIB = 1024 * 1024;

/** How each refusal that routes share is had of one of them, by a good request. */
export const refusalsOf = (
  scene: Scene,
  address: Address,
  { scope, cases: [good] }: Operation,
  key: string | undefined,
): Refusal[] => {
  const { url } = scene.app;
  const ask: Ask = good!;
  const withBody = (body: string, type = 'application/json'): Ask => ({
    ...ask,
    body,
    headers: { 'content-type': type },
  });
  return [
    { status: 400, summary: 'Two Host headers', ask: () => sendAmbiguous(url, address, ask) },
    { status: 401, summary: 'No key', ask: () => send(url, address, undefined, ask) },
    {
      status: 403,
      summary: 'The key lacks the scope',
      ask: async () => send(url, address, await scene.key([OTHER_SCOPE[scope!]]), ask),
    },
    {
      status: 410,
      summary: 'A token from another log',
      ask: () =>
        send(url, address, key, { ...ask, headers: { ...ask.headers, 'consistency-token': OTHER_LOGS_TOKEN } }),
    },
    {
      status: 413,
      summary: 'A body that is too large',
      ask: () => send(url, address, key, withBody('x'.repeat(8 * MIB + 1))),
    },
    {
      status: 414,
      summary: 'A URL that is too long',
      ask: () => send(url, address, key, { ...ask, query: `x=${'x'.repeat(8_192)}` }),
    },
    {
      status: 415,
      summary: 'An unsupported media type',
      ask: () => send(url, address, key, withBody('x', 'text/plain')),
    },
    {
      status: 429,
      summary: 'Too many requests',
      ask: async () => {
        const limited = await scene.limited.issueKey({ organization: 'acme', scopes: scope ? [scope] : ['read'] });
        await send(scene.limited.url, address, limited, ask);
        return send(scene.limited.url, address, limited, ask);
      },
    },
    { status: 500, summary: 'An internal error', ask: () => scene.broken(() => send(url, address, key, ask)) },
    { status: 503, summary: 'The service has just started', ask: () => send(scene.away.url, address, key, ask) },
  ];
};
