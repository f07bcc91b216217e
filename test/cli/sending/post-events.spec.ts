import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { post, TemporaryFailure } from '../../../src/cli/sending/post-events.js';
import { answers, ListServer } from '../../support/list-server.js';

describe('Sending events', () => {
  const servers = [new ListServer(), new ListServer()] as const;
  const urls: string[] = [];

  beforeEach(async () => {
    for (const server of servers) urls.push(await server.start());
  });

  afterEach(() => Promise.all(servers.map((server) => server.stop())));

  it('does not follow a redirect with the key, and names the address and what to do', async () => {
    const location = `${urls[1]}/v2/events`;
    for (const status of [301, 302, 303, 307, 308]) {
      servers[0].behave = answers(status, { location });
      const sent = post([{ json: '{}', place: 'a.ndjson:1' }], { url: urls[0]!, key: 'tp_secret' }, undefined);
      const error = (await sent.catch((failure: unknown) => failure)) as Error;
      expect(error).not.toBeInstanceOf(TemporaryFailure);
      expect(error.message).toContain(`${urls[0]} redirects to ${location} (status ${status})`);
      expect(error.message).toContain('use the final address');
    }
    expect(servers[1].connections).toBe(0);
  });
});

it('No command, sample or bench follows a redirect with an API key', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = ['src/cli', 'docs', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  );
  const senders = files.filter((file) => {
    if (!/\.(?:ts|py|md)$/.test(file)) return false;
    const text = readFileSync(file, 'utf8');
    return /x-api-key/i.test(text) && /\bfetch\(|\burlopen\(/.test(text);
  });
  expect(senders.length).toBeGreaterThan(8);
  const refusing = /redirect: '(?:error|manual)'|HTTPRedirectHandler/;
  expect(senders.filter((file) => !refusing.test(readFileSync(file, 'utf8')))).toEqual([]);
});
