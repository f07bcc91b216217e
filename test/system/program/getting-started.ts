import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/** The shell blocks of the page. The first block starts the service, the second block sets its URL. */
const [, , keys, brand, events, metrics] = [
  ...readFileSync('docs/guides/getting-started.md', 'utf8').matchAll(/```sh\n(.*?)```/gs),
].map(([, block]) => block!);

/** @param settings of the running service, and its address as `URL` */
export const gettingStarted = (settings: () => NodeJS.ProcessEnv) =>
  describe('The getting-started guide', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'threat-protection-first-'));
      symlinkSync(resolve('dist'), join(folder, 'dist'));
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    /** Runs a block in a shell, in a separate folder. */
    const run = async (block: string): Promise<string> => {
      const env = { ...process.env, ...settings() };
      const { stdout } = await promisify(execFile)('bash', ['-euc', block], { cwd: folder, env });
      return stdout;
    };

    it('leads from a key to the first counted event', async () => {
      await run(keys!);
      await run(brand!);
      expect(await run(events!)).toContain('"accepted":2,"duplicates":0');
      const responses = await run(metrics!);
      expect(responses.match(/"newThreats":1,/g)).toHaveLength(2);
      expect(responses).toContain('"status":"BLOCKED"');
      expect(await run(events!)).toContain('"accepted":0,"duplicates":2');
    });
  });
