import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { freePort } from '../../support/free-port.js';
import { describeWith } from '../../support/tools.js';
import { ListServer, sends } from '../../support/list-server.js';

const FOLDER = join(import.meta.dirname, '../../../docs/operations/monitoring');
const run = promisify(execFile);

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
const { panels } = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')) as { panels: Panel[] };
const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

const isInstalled = (command: string): boolean => spawnSync(command, ['--version']).error === undefined;
const describeWithPrometheus = describeWith(
  isInstalled('prometheus') && isInstalled('promtool'),
  'Prometheus (apt-get install prometheus)',
);

describeWithPrometheus('The alert rules', () => {
  it('are valid, and fire only under the intended conditions', async () => {
    await run('promtool', ['check', 'rules', join(FOLDER, 'alerts.yml')]);
    const { stdout } = await run('promtool', ['test', 'rules', join(FOLDER, 'alerts.test.yml')]);
    expect(stdout).toContain('SUCCESS');
  });

  it('each have a test in which they fire, and the URL of a section in the runbook', () => {
    const named = (file: string): string[] =>
      [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/^ +- alert: (\w+)/gm)].map(([, name]) => name!);
    const fired = readFileSync(join(FOLDER, 'alerts.test.yml'), 'utf8').match(/alertname: \w+\n +exp_alerts:\n/g);
    const page = readFileSync(join(FOLDER, '../monitoring.md'), 'utf8');
    const alerts = named('alerts.yml');
    expect(alerts.length).toBeGreaterThan(5);
    expect(fired!.map((each) => /\w+(?=\n)/.exec(each)![0]).sort()).toEqual([...alerts].sort());
    const links = readFileSync(join(FOLDER, 'alerts.yml'), 'utf8').matchAll(/runbook_url: '(.*)'/g);
    expect([...links].map(([, link]) => link)).toEqual(
      alerts.map((alert) => `docs/operations/monitoring.md#${alert.toLowerCase()}`),
    );
    for (const alert of alerts) expect(page).toContain(`\n### ${alert}\n`);
  });
});

describeWithPrometheus('A Prometheus that scrapes the service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
  let app: TestApp;
  let listServer: ListServer;
  let prometheus: ChildProcess;
  let url: string;

  const ask = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(url + path)).json()) as { status: string; data: unknown; error?: string };
    if (answer.status !== 'success') throw new Error(answer.error);
    return answer.data;
  };
  const valuesOf = async (expr: string): Promise<readonly { value: [number, string] }[]> => {
    const query = encodeURIComponent(expr.replaceAll('$__rate_interval', '10s'));
    return ((await ask(`/api/v1/query?query=${query}`)) as { result: { value: [number, string] }[] }).result;
  };

  /** When Prometheus last scraped the service, in seconds; 0 if it has not yet. */
  const lastScrape = async (): Promise<number> => Number((await valuesOf('timestamp(up)'))[0]?.value[1] ?? 0);

  beforeAll(async () => {
    listServer = new ListServer();
    const partnerUrl = await listServer.start();
    listServer.behave = sends('{"status":"UNKNOWN"}', { 'content-type': 'application/json' });
    writeFileSync(join(folder, 'list.txt'), 'evil.example\n');
    const sources = [
      { id: 'own', kind: 'own' },
      { id: 'partner', kind: 'http', url: partnerUrl },
      { id: 'file', kind: 'list', format: 'plain', file: join(folder, 'list.txt') },
    ];
    writeFileSync(join(folder, 'sources.json'), JSON.stringify({ sources }));
    app = await startApp({ env: { DATA_DIR: folder, SOURCES_FILE: join(folder, 'sources.json') } });
    // No projector runs here, so these rows simulate its progress.
    await app.pool.query(
      `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', 0, $1)`,
      [Date.now()],
    );
    cpSync(join(FOLDER, 'alerts.yml'), join(folder, 'alerts.yml'));
    writeFileSync(
      join(folder, 'prometheus.yml'),
      `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: threat-protection, static_configs: [{ targets: ['${new URL(app.url).host}'] }] }]
`,
    );
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    prometheus = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    await eventually(
      'Prometheus answers',
      async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok ?? false,
      60_000,
    );
  });
  afterAll(async () => {
    if (prometheus?.exitCode === null) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'exit');
    }
    await app?.close();
    await listServer?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has a result for every query of the dashboard, and fires no alert', async () => {
    const ingest = await app.issueKey({ scopes: ['ingest'] });
    const key = await app.issueKey({ organization: 'acme' });
    const AT = '2026-03-01T12:00:00.000Z';
    let n = 0;
    const traffic = async (): Promise<void> => {
      n += 1;
      const event = (id: string, data: object) => ({
        specversion: '1.0',
        id,
        source: 'https://upstream.example',
        type: 'ThreatDeleted',
        time: AT,
        data,
      });
      const good = Array.from({ length: 40 }, (_, each) =>
        event(`${n}-${each}`, { organization: 'acme', threatId: `${n}-${each}`, deletedAt: AT }),
      );
      await fetch(`${app.url}/v2/events`, {
        method: 'POST',
        headers: { 'x-api-key': ingest, 'content-type': 'application/cloudevents-batch+json' },
        body: JSON.stringify([...good, event(`bad-${n}`, {})]),
      });
      await fetch(`${app.url}/v2/asset/check`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ content: `${n}.example` }),
      });
      await app.pool.query('update read.checkpoints set as_of = $1', [Date.now()]);
    };
    const missing = new Set(queries.map(([, expr]) => expr));
    await eventually(
      'every query returns a number',
      async () => {
        await traffic();
        const before = await lastScrape();
        await eventually('Prometheus has scraped the service again', async () => (await lastScrape()) > before);
        for (const expr of missing) {
          const values = await valuesOf(expr);
          if (values.length > 0 && values.every(({ value }) => Number.isFinite(Number(value[1])))) missing.delete(expr);
        }
        return missing.size === 0;
      },
      90_000,
    ).catch((error: unknown) => {
      throw new Error(`No answer to: ${[...missing].join('\n')}`, { cause: error });
    });
    const { groups } = (await ask('/api/v1/rules')) as {
      groups: { rules: { name: string; state: string; health: string }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    for (const rule of rules) expect(rule).toMatchObject({ state: 'inactive', health: 'ok' });
  });
});
