import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Config, environmentOf, readConfig } from '../../runtime/config.js';
import { drawBrands, drawMetrics, type DrawnMetrics } from './chart.js';
import { Invalid } from '../../errors.js';
import { processedCount, sendEvents } from '../sending/send-events.js';
import { BRANDS, ORGANIZATION, rowEvents } from './row-events.js';
import { readAddressRows, readSiteRows } from './shipped-rows.js';
import { holdsDatabase } from '../../postgres/embedded/cluster-layout.js';
import { print, say } from '../../runtime/terminal.js';
import { SIGNALS, FAILED, type OutputOptions, prints, type Result, count, Progress } from '../output.js';
import { curlLines } from './calls.js';
import { deleteKeyHeaders } from './header-files.js';
import { DemoKeys, revokeDemoKeys, withLogOf } from './keys.js';
import { deleteDemoWebhooks, DemoWebhook, LOOPBACK, useService, WAIT_SECONDS } from './disputes-and-webhook.js';
import { masterKeyFile } from '../../webhooks/secrets.js';
import { withLog } from '../session.js';
import { Service, stopOnSignals } from '../start.js';

/** How long the projector may take for one batch before the demo fails. */
const BATCH_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 100;

/**
 * Returns the configured port or, if that port is taken, 0 for any free port, so that two demos can run side by side.
 */
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

/**
 * @returns the consistency token of each batch. The last token is not always the newest, because duplicates were stored
 *   earlier
 */
const sendShippedData = async (url: string, key: string, signal: AbortSignal): Promise<readonly string[]> => {
  const sites = readSiteRows();
  const addresses = readAddressRows();
  const { events, skipped } = rowEvents(sites, addresses);
  say(`Sending ${count(events.length)} events of ${count(sites.length + addresses.length)} rows of real threat data`);
  const progress = new Progress('events');
  const sendables = function* () {
    for (const event of events) yield { json: JSON.stringify(event), place: event.id };
  };
  const tokens: string[] = [];
  const { accepted, duplicates, rejected } = await sendEvents(
    sendables(),
    { url, key },
    {
      signal,
      onProgress: (soFar) => progress.update(processedCount(soFar), processedCount(soFar) / events.length),
      onToken: (token) => tokens.push(token),
      onRetry: (reason) => progress.note(`${reason}; retrying`),
    },
  );
  progress.end();
  say(`${count(accepted)} accepted, ${count(duplicates)} already stored, ${count(rejected.length)} rejected`);
  for (const { place, issues } of rejected) say(`  ${place}: ${issues.join('; ')}`);
  const reasons = new Map<string, number[]>();
  for (const { file, line, reason } of skipped)
    reasons.set(`${file}, ${reason}`, [...(reasons.get(`${file}, ${reason}`) ?? []), line]);
  say(`${skipped.length} rows were skipped:`);
  for (const [reason, lines] of reasons) say(`  ${reason}: line ${lines.join(', ')}`);
  return tokens;
};

interface MetricsAt {
  readonly metrics: DrawnMetrics;
  /** All events that were acknowledged before this instant are counted. */
  readonly asOf: string;
}

const fetchMetrics = (
  url: string,
  key: string,
  query: string,
  signal: AbortSignal,
  token?: string,
): Promise<Response> =>
  fetch(`${url}/v2/organization/metrics${query}`, {
    redirect: 'error',
    headers: {
      'x-api-key': key,
      ...(token !== undefined && { 'consistency-token': token, prefer: `wait=${WAIT_SECONDS}` }),
    },
    signal,
  });

const readMetrics = async (response: Response): Promise<MetricsAt> => {
  if (!response.ok) throw new Error(`${response.url} responded with ${response.status}: ${await response.text()}`);
  return { metrics: (await response.json()) as DrawnMetrics, asOf: response.headers.get('x-as-of')! };
};

/** Waits until the batch that the token names is counted. */
const waitUntilCounted = async (url: string, key: string, token: string, signal: AbortSignal): Promise<void> => {
  for (const end = performance.now() + BATCH_TIMEOUT_MS; ; await sleep(POLL_INTERVAL_MS, undefined, { signal })) {
    const response = await fetchMetrics(url, key, '', signal, token);
    if (response.status !== 503) return void (await readMetrics(response));
    const { message } = (await response.json()) as { message: string };
    if (performance.now() > end)
      throw new Error(`No batch was counted for ${BATCH_TIMEOUT_MS / 1_000} s (${message}); see the output above`);
  }
};

/** Waits until the API accepts the key. A new key takes up to a second to work on every instance. */
const waitUntilAccepted = async (url: string, key: string, signal: AbortSignal): Promise<void> => {
  for (let tries = 0; tries < 50; tries++) {
    const { status } = await fetch(`${url}/v2/organization/metrics`, {
      redirect: 'error',
      headers: { 'x-api-key': key },
      signal,
    });
    if (status !== 401) return;
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
  throw new Error('The API did not accept the new key within 5 s');
};

const show = async (
  service: Service,
  config: Config,
  demoKeys: DemoKeys,
  webhook: DemoWebhook,
  signal: AbortSignal,
): Promise<void> => {
  const { url, databaseUrl } = await service.start();
  say(`The service runs at ${url}`);
  signal.throwIfAborted();
  const running = readConfig(environmentOf(config, { databaseUrl }));
  const { keys, headers } = await demoKeys.issue(running, url);
  await waitUntilAccepted(url, keys.organization, signal);
  const tokens = await sendShippedData(url, keys.ingest, signal);
  say('Counting');
  for (const token of tokens) await waitUntilCounted(url, keys.organization, token, signal);
  await withLogOf(running, (log) => useService(url, keys, signal, tokens.at(-1), log));
  if (masterKeyFile(config) !== undefined) await webhook.create(url, keys.organization, signal);
  const { metrics, asOf } = await readMetrics(await fetchMetrics(url, keys.organization, '', signal));
  const brands: [string, DrawnMetrics][] = [];
  for (const { brand, name } of BRANDS) {
    const response = await fetchMetrics(url, keys.organization, `?brandSlug=${brand}`, signal);
    brands.push([name, (await readMetrics(response)).metrics]);
  }
  print([
    '',
    `The metrics of ${ORGANIZATION}, with all events acknowledged before ${asOf}`,
    '',
    ...drawMetrics(metrics),
    '',
    ...drawBrands(brands),
    '',
    ...curlLines(url, headers),
    '',
  ]);
  say('The service runs until you press Ctrl-C, which also revokes these keys and deletes the webhook');
};

const demo = async (): Promise<number> => {
  const settings = readConfig();
  const config = readConfig({
    ...settings.env,
    PORT: String(await freePort(settings)),
    // A person reads this terminal, so the service logs only errors, and the demo itself explains lists that failed.
    LOG_LEVEL: 'error',
    ACCESS_LOG: 'off',
    // The receiver of the demo is on this machine.
    WEBHOOK_ALLOWED_NETWORKS: [...settings.webhookAllow, LOOPBACK].join(','),
    WEBHOOK_PROXY: '',
  });
  const service = new Service(config, say);
  const keys = new DemoKeys();
  const webhook = new DemoWebhook();
  let ended: Promise<void> | undefined;
  /** Deletes the webhook with the key, then revokes the keys, while the service still runs. */
  const end = (): Promise<void> =>
    (ended ??= webhook
      .delete()
      .then(() => keys.revoke())
      .then(() => service.stop()));
  const stop = new AbortController();
  const stopped = stopOnSignals({ stop: end, kill: () => service.kill() }, say);
  for (const signal of SIGNALS) process.once(signal, () => stop.abort());
  const failed = show(service, config, keys, webhook, stop.signal)
    .then(() => service.failed)
    .catch(async (error: Error) => {
      if (stop.signal.aborted) return stopped;
      say(error.message);
      await end();
      return FAILED;
    });
  return Promise.race([stopped, failed]);
};

const cleanUp = async (): Promise<Result> => {
  const { dataDir, databaseUrl } = readConfig();
  const files = await deleteKeyHeaders(dataDir);
  // Without a database there are no keys to revoke.
  const hasDatabase = databaseUrl !== undefined || holdsDatabase(dataDir);
  const [keys, webhooks] = hasDatabase
    ? await withLog(async ({ log, pool }) => [await revokeDemoKeys(log), await deleteDemoWebhooks(log, pool)])
    : [0, 0];
  return {
    lines: [
      `Revoked ${keys} keys and deleted ${files} header files and ${webhooks} webhooks of demos; their data stays`,
    ],
    json: { revokedKeys: keys, deletedFiles: files, deletedWebhooks: webhooks },
  };
};

interface DemoOptions extends OutputOptions {
  readonly clean?: boolean;
}

const runOrClean = async ({ clean, json }: DemoOptions): Promise<Result> => {
  if (clean) return cleanUp();
  if (json) throw new Invalid('--json can be used only with --clean');
  return process.exit(
    await demo().catch((error: Error) => {
      say(error.message);
      return FAILED;
    }),
  );
};

export const addDemoCommand = (program: Command): void => {
  prints(
    program
      .command('demo')
      .description(
        'run the service locally, load the shipped threat data and show its metrics; Ctrl-C stops the service, revokes ' +
          'the two keys of the demo and deletes their header files and its webhook, but keeps the data',
      )
      .option(
        '--clean',
        'only revoke the keys and delete the header files and webhooks that earlier demos left behind; stop running demos first',
      ),
    runOrClean,
  );
};
