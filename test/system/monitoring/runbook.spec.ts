import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';
import { describeWith } from '../../support/tools.js';

const FOLDER = join(import.meta.dirname, '../../../docs/operations/monitoring');
const alerts = [...readFileSync(join(FOLDER, 'alerts.yml'), 'utf8').matchAll(/- alert: (\w+)/g)].map(
  ([, name]) => name!,
);
const [, ...sections] = readFileSync(join(FOLDER, '../monitoring.md'), 'utf8').split(/^### /m);
const runbook = sections.map((section) => ({
  alert: section.slice(0, section.indexOf('\n')),
  block: /```sh\n(.*?)```/s.exec(section)?.[1],
}));

const hasPsql = spawnSync('psql', ['--version']).error === undefined;
describeWith(hasPsql, 'psql (apt-get install postgresql-client)')('The runbook', () => {
  let database: TestDatabase;
  let dataDir: string;
  let service: Program;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    database = await createDatabase();
    dataDir = mkdtempSync(join(tmpdir(), 'threat-protection-runbook-'));
    const url = new URL(database.url);
    env = {
      ...process.env,
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      PORT: '0',
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGUSER: decodeURIComponent(url.username),
      PGPASSWORD: decodeURIComponent(url.password),
      PGDATABASE: url.pathname.slice(1),
    };
    service = startProgram('src/cli.js', ['start'], { env });
    env['URL'] = await service.listening();
  });
  afterAll(async () => {
    await service?.end();
    rmSync(dataDir, { recursive: true, force: true });
    await database?.drop();
  });

  it('has commands for each alert, in the alerts’ order', () => {
    expect(alerts.length).toBeGreaterThan(5);
    expect(runbook.map(({ alert }) => alert)).toEqual(alerts);
    for (const { alert, block } of runbook) expect([alert, block]).toEqual([alert, expect.stringMatching(/\S/)]);
  });

  it.each(runbook)('has working commands for $alert', async ({ block }) => {
    const commands = [
      `threat-protection() { '${process.execPath}' '${resolve('dist/src/cli.js')}' "$@"; }`,
      // On this machine, systemd runs no part of the service.
      ...['systemctl', 'journalctl'].map((name) => `${name}() { [[ "$*" == *threat-protection-* ]]; }`),
      block!,
    ];
    const ended = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], { env });
    await expect(ended).resolves.toBeDefined();
  });
});
