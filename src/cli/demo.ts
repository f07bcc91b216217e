import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { issueApiKey } from '../api-keys/issue-api-key.js';
import { type Config, environmentOf, readConfig } from '../config.js';
import { drawBrands, drawMetrics, type DrawnMetrics } from '../demo/chart.js';
import { answeredOf, replay } from '../replay/send-events.js';
import { BRANDS, ORGANIZATION, rowEvents } from '../demo/row-events.js';
import { readAddressRows, readSiteRows } from '../demo/shipped-rows.js';
import { openEventLog } from '../event-log/open-event-log.js';
import { MS_PER_DAY } from '../events/instant.js';
import { print, say } from '../terminal.js';
import { operatorName } from './operator-name.js';
import { SIGNALS } from './interruption.js';
import { curlLines, type Keys, writeKeyHeaders } from './demo-calls.js';
import { FAILED } from './output.js';
import { count, Progress } from './progress.js';
import { Service, stopOnSignals } from './start.js';

const KEYS_LAST_MS = 30 * MS_PER_DAY;
/** How long the projector may make no progress before the demo fails. */
const PATIENCE_MS = 60_000;
const POLL_MS = 100;

/** The configured port, or a free one if it is taken, so that two demos can run side by side. */
const freePort = async ({ host, port }: Config): Promise<number> => {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, 'listening');
    return port;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    say(`Port ${port} is taken by another program; using a free one`);
    return 0;
  } finally {
    probe.close();
  }
};

const issueKeys = async (config: Config): Promise<Keys> => {
  const log = await openEventLog(config);
  try {
    const demo = { name: 'demo', expiresAt: Date.now() + KEYS_LAST_MS, operator: operatorName() };
    const ingest = await issueApiKey(log, { ...demo, scopes: ['ingest'] });
    const organization = await issueApiKey(log, { ...demo, scopes: ['read', 'write'], organization: ORGANIZATION });
    return { ingest: ingest.key, organization: organization.key };
  } finally {
    await log.close();
  }
};

const sendShippedData = async (url: string, key: string, signal: AbortSignal): Promise<void> => {
  const sites = readSiteRows();
  const addresses = readAddressRows();
  const { events, notTaken } = rowEvents(sites, addresses);
  say(`Sending ${count(events.length)} events of ${count(sites.length + addresses.length)} rows of real threat data`);
  const progress = new Progress('events');
  const sendables = function* () {
    for (const event of events) yield { json: JSON.stringify(event), place: event.id };
  };
  const { accepted, duplicates, rejected } = await replay(
    sendables(),
    { url, key },
    {
      signal,
      onProgress: (soFar) => progress.update(answeredOf(soFar), answeredOf(soFar) / events.length),
      onRetry: (reason) => progress.note(`${reason}; retrying`),
    },
  );
  progress.end();
  say(`${count(accepted)} accepted, ${count(duplicates)} already known, ${count(rejected.length)} rejected`);
  for (const { place, issues } of rejected) say(`  ${place}: ${issues.join('; ')}`);
  const reasons = new Map<string, number[]>();
  for (const { file, line, reason } of notTaken)
    reasons.set(`${file}, ${reason}`, [...(reasons.get(`${file}, ${reason}`) ?? []), line]);
  say(`${notTaken.length} rows were skipped:`);
  for (const [reason, lines] of reasons) say(`  ${reason}: line ${lines.join(', ')}`);
};

interface Answered {
  readonly metrics: DrawnMetrics;
  /** ms */
  readonly asOf: number;
}

const askMetrics = async (url: string, key: string, query: string, signal: AbortSignal): Promise<Answered> => {
  const response = await fetch(`${url}/v2/organization/metrics${query}`, { headers: { 'x-api-key': key }, signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  const metrics = (await response.json()) as DrawnMetrics;
  return { metrics, asOf: Date.parse(response.headers.get('x-as-of') ?? '') };
};

/** Waits until everything acknowledged before this call is counted. */
const counted = async (url: string, key: string, signal: AbortSignal): Promise<Answered> => {
  const sent = Date.now();
  let last = { asOf: -Infinity, seen: sent };
  for (;;) {
    const answered = await askMetrics(url, key, '', signal);
    if (answered.asOf >= sent) return answered;
    if (answered.asOf > last.asOf) last = { asOf: answered.asOf, seen: Date.now() };
    if (Date.now() - last.seen > PATIENCE_MS)
      throw new Error(`The projector has made no progress for ${PATIENCE_MS / 1_000} s; see its output above`);
    await sleep(POLL_MS, undefined, { signal });
  }
};

/** A new key takes up to a second to work on every instance. */
const worksAtOnce = async (url: string, key: string, signal: AbortSignal): Promise<void> => {
  for (let tries = 0; tries < 50; tries++) {
    const { status } = await fetch(`${url}/v2/organization/metrics`, { headers: { 'x-api-key': key }, signal });
    if (status !== 401) return;
    await sleep(POLL_MS, undefined, { signal });
  }
  throw new Error('The API does not recognise the key just issued');
};

const show = async (service: Service, config: Config, signal: AbortSignal): Promise<void> => {
  const { url, databaseUrl } = await service.start();
  say(`The service runs at ${url}`);
  const keys = await issueKeys(readConfig(environmentOf(config, { databaseUrl })));
  await worksAtOnce(url, keys.organization, signal);
  await sendShippedData(url, keys.ingest, signal);
  say('Counting');
  const { metrics, asOf } = await counted(url, keys.organization, signal);
  const brands: [string, DrawnMetrics][] = [];
  for (const { brand, name } of BRANDS)
    brands.push([name, (await askMetrics(url, keys.organization, `?brandSlug=${brand}`, signal)).metrics]);
  print([
    '',
    `The metrics of ${ORGANIZATION}, everything acknowledged before ${new Date(asOf).toISOString()}`,
    '',
    ...drawMetrics(metrics),
    '',
    ...drawBrands(brands),
    '',
    ...curlLines(url, await writeKeyHeaders(config.dataDir, url, keys)),
    '',
  ]);
  say('The service runs until Ctrl-C');
};

const demo = async (): Promise<number> => {
  const settings = readConfig();
  // A person reads this terminal; the API's log matters only if something is wrong.
  const environment = environmentOf(settings, { port: await freePort(settings) });
  const config = readConfig({ ...environment, LOG_LEVEL: 'warn', ACCESS_LOG: 'off' });
  const service = new Service(config, say);
  const stop = new AbortController();
  const stopped = stopOnSignals(service, say);
  for (const signal of SIGNALS) process.once(signal, () => stop.abort());
  const failed = show(service, config, stop.signal).then(
    () => new Promise<never>(() => {}),
    async (error: Error) => {
      if (stop.signal.aborted) return stopped;
      say(error.message);
      await service.stop();
      return FAILED;
    },
  );
  return Promise.race([stopped, failed]);
};

export const addDemo = (program: Command): void => {
  program
    .command('demo')
    .description('run everything locally, load the shipped real data and show the metrics; Ctrl-C stops it')
    .action(async () => {
      const code = await demo().catch((error: Error) => {
        say(error.message);
        return FAILED;
      });
      process.exit(code);
    });
};
