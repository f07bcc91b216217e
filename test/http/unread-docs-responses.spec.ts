import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { sharedApp } from '../support/open-for-tests.js';
import { eventually } from '../support/eventually.js';

/** A client without a key requests the files of the API reference, but never reads the responses. */

const REQUESTS = 1_000;
const HAS_PROC = process.platform === 'linux';

const app = sharedApp();

const descriptors = (): number => readdirSync('/proc/self/fd').length;

const requestAndDisconnect = (path: string): Promise<void> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname, () => {
      socket.pause();
      // The client cannot observe when the server has started the pipelined requests, so it waits.
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(REQUESTS), () =>
        setTimeout(() => socket.resetAndDestroy(), 500),
      );
    });
    socket.on('error', () => {}).on('close', () => resolve());
  });

describe('The files of the API reference', () => {
  const files = ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/docs', '/openapi.json'];

  (HAS_PROC ? it : it.skip)(
    'keep no descriptor open for a client that sends a thousand requests and disconnects',
    async () => {
      for (const path of files) await (await fetch(app.url + path)).arrayBuffer();
      const before = descriptors();
      await Promise.all(files.map(requestAndDisconnect));
      await eventually('the descriptors of the connections are closed', () => descriptors() <= before + 5);
      expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
    },
  );

  it('forbid foreign scripts and framing with a content security policy', async () => {
    const response = await fetch(`${app.url}/docs`);
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    const page = await response.text();
    expect(page).not.toMatch(/<script(?! src=)|<style|\son\w+=/);
  });
});
