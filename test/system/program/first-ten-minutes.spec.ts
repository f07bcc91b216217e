import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

/** The blocks of shell on the page; the first starts the service, the second says where it is. */
const [, , keys, brand, events, metrics] = [
  ...readFileSync('docs/first-ten-minutes.md', 'utf8').matchAll(/```sh\n(.*?)```/gs),
].map(([, block]) => block!);

let database: TestDatabase;
let folder: string;
let service: Program;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'threat-protection-first-'));
  env = { ...process.env, DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), PORT: '0' };
  service = startProgram('src/cli.js', ['start'], { env });
  env['URL'] = await service.listening();
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

/** Runs a block as a shell would in a folder of its own. */
const run = async (block: string): Promise<string> => {
  const tp = `tp() { '${process.execPath}' '${resolve('dist/src/cli.js')}' "$@"; }`;
  const { stdout } = await promisify(execFile)('bash', ['-euc', `${tp}\n${block}`], { cwd: folder, env });
  return stdout;
};

describe('The first ten minutes', () => {
  it('lead from a key to the first counted event, as their page says', async () => {
    await run(keys!);
    await run(brand!);
    await eventually('the new keys work', async () => (await run(events!)).includes('"accepted":2,"duplicates":0'));
    expect(await run(events!)).toContain('"accepted":0,"duplicates":2');
    await eventually('the events are counted', async () => {
      const answers = await run(metrics!);
      return answers.match(/"newThreats":1,/g)?.length === 2 && answers.includes('"status":"BLOCKED"');
    });
  });
});
