import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook as Verifier } from 'standardwebhooks';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { Process } from '../../rig/processes.js';
import type { RunContext } from '../../rig/run-context.js';
import { webhookSettings } from '../../rig/webhook.js';
import { eventually } from '../../../test/support/eventually.js';
import { queryOnce } from '../../../test/support/query-once.js';
import { cloudEvent, sentReport } from '../../../test/support/upstream.js';
import { Receiver } from '../../../test/support/receiver.js';
import { sendAll } from '../../rig/send-all.js';
import { startAttackTarget, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  /** The number of secrets of the endpoint; each has signed requests. */
  readonly secrets: number;
}

const ORGANIZATION = TENANTS[0]!;

/** The places that are searched for secrets. The tables and the log of the API: `test/features/webhooks.spec.ts`. */
type Places = Readonly<Record<'files' | 'logs' | 'processes', () => Promise<Buffer[]>>>;

const filesIn = (folder: string): Buffer[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)));

/** Command lines and environments of all processes. */
const processes = (): Buffer[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      ['cmdline', 'environ'].flatMap((what) => {
        try {
          return [readFileSync(`/proc/${pid}/${what}`)];
        } catch {
          return [];
        }
      }),
    );

/** The files of a database after a checkpoint; empty if they belong to another user. */
const databaseFiles = async (url: string): Promise<Buffer[]> => {
  await queryOnce(url, 'checkpoint');
  const [row] = await queryOnce<{ folder: string }>(
    url,
    `select current_setting('data_directory') || '/base/' || oid as folder from pg_database
     where datname = current_database()`,
  );
  return existsSync(row!.folder) ? filesIn(row!.folder) : [];
};

const formsOf = (secret: string): Buffer[] => {
  const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const texts = ['base64', 'base64url', 'hex'] as const;
  return [bytes, ...texts.map((form) => Buffer.from(bytes.toString(form).replace(/=$/, '')))];
};

/** Returns a finding for each place that contains secrets. */
const search = async (places: Places, secrets: readonly string[]): Promise<string[]> => {
  const findings: string[] = [];
  for (const [place, read] of Object.entries(places)) {
    const texts = await read();
    const found = secrets.filter((secret) => formsOf(secret).some((form) => texts.some((text) => text.includes(form))));
    if (found.length > 0) findings.push(`${found.length} secrets are in the ${place}`);
    if (texts.every(({ length }) => length === 0)) findings.push(`Nothing was searched in the ${place}`);
  }
  return findings;
};

/** @param plants whether to plant a secret in every place */
const attack = async (context: RunContext, { secrets: count }: Scale, plants = false): Promise<Outcome> => {
  const webhooks = await webhookSettings(await context.folder());
  const env = { ...webhooks, ACCESS_LOG: 'on', LOG_LEVEL: 'debug' };
  const target = await startAttackTarget(context, { env });
  const receiver = new Receiver();
  const url = await receiver.start();
  context.onEnd(() => receiver.stop());
  const deliveries = Process.start(context, 'src/deliver', target.env);
  const call = async (path: string, json: object): Promise<Record<string, unknown>> => {
    const question = { key: target.keys[ORGANIZATION]!, json };
    const { status, body } = await sendRequest(`${target.url}/v2/organization/webhooks${path}`, question);
    if (status > 201) throw new Error(`POST webhooks${path} answered ${status}: ${JSON.stringify(body)}`);
    return body as Record<string, unknown>;
  };
  const { id, secret } = await call('', { url: `${url}/hooks`, from: 'beginning' });
  const secrets = [String(secret)];
  for (let n = 0; secrets.length < count; n += 1) {
    await call(`/${id}/test`, {});
    secrets.push(String((await call(`/${id}/rotate`, { force: true }))['secret']));
  }
  const planted = plants ? formsOf(secrets[0]!).at(-1)!.toString() : 'r1';
  const report = sentReport(planted, { organization: ORGANIZATION }, planted);
  const { accepted } = await sendAll(target, target.upstreamKey, [cloudEvent(report)]);
  if (accepted !== 1) throw new Error('The report was not accepted');
  await eventually('the record is delivered', () => receiver.received.length >= count);
  const findings: string[] = [];
  const { headers, body } = receiver.received.at(-1)!;
  new Verifier(secrets.at(-1)!).verify(body, headers as Record<string, string>);
  if (plants) {
    await writeFile(join(target.env['DATA_DIR']!, 'notes'), planted);
    const idle = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)', planted]);
    context.onEnd(async () => idle.kill());
  }
  const said = plants ? planted : '';
  const found = await search(
    {
      files: async () => [
        ...(await databaseFiles(target.env['DATABASE_URL']!)),
        ...filesIn(target.env['DATA_DIR']!),
        readFileSync(webhooks['WEBHOOK_MASTER_KEY_FILE']!),
      ],
      logs: async () => [Buffer.from(deliveries.lines.join('\n') + said)],
      processes: async () => processes(),
    },
    secrets,
  );
  // A planted secret must be found in every place.
  findings.push(...(plants && found.length < 3 ? [] : found));
  return {
    workload: `${secrets.length} secrets of an endpoint, ${receiver.received.length} requests signed`,
    observed: 'none in database files, DATA_DIR, the log of deliveries, command lines or environments',
    findings,
  };
};

export const webhookSecrets: Scenario<Scale> = {
  name: 'S35',
  what: 'webhook secrets are searched for in database files, logs and process lists',
  asvs: { '13.3.1': 'Secret Management', '14.2.1': 'General Data Protection', '16.2.5': 'General Logging' },
  full: { secrets: 20 },
  run: (context, scale) => attack(context, scale),
  guard: 'secrets are derived from a key in a file, and never stored',
  withoutGuard: (context, scale) => attack(context, scale, true),
};
