import { issueApiKey } from '../../src/api-keys/api-keys.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Scope } from '../../src/events/types/organizations.js';
import { sendRequest } from './http-request.js';
import { checkVerify, waitUntilCounted } from './check.js';
import { waitUntilKeysKnown } from './keys.js';
import { startService } from './running-service.js';
import { endedProcesses } from './outage.js';
import { builtUrl, type Environment, Process } from './processes.js';
import { RunContext } from './run-context.js';
import type { Service } from './service.js';
import { eventually } from '../../test/support/eventually.js';
import { type Target, measureResources } from './target.js';

/** Organizations that attack or are attacked. */
export const TENANTS = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
/** Bystanders, which an attack must not affect. */
export const QUIET = ['quiet-1', 'quiet-2', 'quiet-3'] as const;

const ORGANIZATIONS = [...TENANTS, ...QUIET];
/** The timeout of catching up. Projecting the facts of S16 takes several minutes. */
const CATCH_UP_MS = 600_000;
/** Most attacks run with these limits off, because they need many connections and many requests without a key. */
const LIMITS_OFF = { MAX_CONNECTIONS_PER_ADDRESS: '0', UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0' };
/** Settings for attacks that test these limits. An empty setting selects the default. */
export const DEFAULT_LIMITS = {
  MAX_CONNECTIONS_PER_ADDRESS: '',
  UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '',
  RATE_LIMIT_PER_MINUTE: '',
};

export interface RunningService extends Target {
  readonly service: Service;
  readonly log: EventLog;
  readonly env: Environment;
  /** Issues a key, and waits until it works. */
  issue(scopes: readonly Scope[], organization: string): Promise<{ id: string; key: string }>;
}

const REPORTING_MODULE = builtUrl('reliability/rig/preload/report-resources');

/** Starts the built service on a new database. @param env added to the settings of all scenarios */
export const startAttackTarget = async (
  context: RunContext,
  { env: more = {}, preload = REPORTING_MODULE }: { env?: Environment | undefined; preload?: string } = {},
): Promise<RunningService> => {
  const [database, reportFolder] = [await context.database(), await context.folder()];
  const env = {
    ...LIMITS_OFF,
    DATABASE_URL: database.url,
    RESOURCE_REPORTS: reportFolder,
    DATA_DIR: await context.folder(),
    ...more,
  };
  const { service, log, keys: known } = await startService(context, env, { organizations: ORGANIZATIONS, preload });
  const { ingest: upstreamKey, read: keys } = known;
  const ingestKeys: Record<string, string> = {};
  for (const organization of ORGANIZATIONS)
    ingestKeys[organization] = (await issueApiKey(log, { scopes: ['ingest'], organization })).key;
  await waitUntilKeysKnown(service.url, { ingest: ingestKeys['quiet-3']!, read: keys });
  return {
    service,
    log,
    env,
    api: service.api,
    url: service.url,
    upstreamKey,
    keys,
    ingestKeys,
    output: () => service.processes.flatMap(({ lines }) => lines).join('\n'),
    measureResources: () => measureResources(service.api, reportFolder),
    issue: async (scopes, organization) => {
      const issued = await issueApiKey(log, { scopes, organization });
      await eventually(
        'the new key is known',
        async () =>
          (await sendRequest(`${service.url}/v2/organization/asset-groups`, { key: issued.key })).status !== 401,
      );
      return issued;
    },
  };
};

/** Starts the naive service of `naive-service.ts`. */
export const startNaiveService = async (context: RunContext, env: Environment = {}): Promise<Target> => {
  const [database, reportFolder] = [await context.database({ migrated: false }), await context.folder()];
  const api = Process.start(
    context,
    'reliability/rig/naive-service',
    { RESOURCE_REPORTS: reportFolder, DATABASE_URL: database.url, ...env },
    { preload: REPORTING_MODULE },
  );
  await eventually('the naive service listens', () => api.url !== undefined || !api.isRunning);
  const keys = Object.fromEntries(ORGANIZATIONS.map((organization) => [organization, organization]));
  return {
    api,
    url: api.url!,
    upstreamKey: 'upstream',
    keys,
    ingestKeys: keys,
    output: () => api.lines.join('\n'),
    measureResources: () => measureResources(api, reportFolder),
  };
};

/** Services that several attacks use in turn. */
export class SharedServices {
  private readonly context = new RunContext(1);
  private readonly openings = new Map<string, Promise<RunningService>>();
  private isClosed = false;

  /**
   * Returns a service once it has no backlog from the previous attack.
   * @param name identifies the service; attacks with different names do not share one
   */
  async service(name = 'filled', env?: Environment): Promise<RunningService> {
    const opening = this.openings.get(name) ?? startAttackTarget(this.context, { env });
    this.openings.set(name, opening);
    const opened = await opening;
    await waitUntilCounted(opened.url, CATCH_UP_MS);
    return opened;
  }

  /** Checks and stops all services. @returns the findings */
  async close(): Promise<string[]> {
    if (this.isClosed) return [];
    this.isClosed = true;
    try {
      const findings = await Promise.all([...this.openings.values()].map((opening) => this.check(opening)));
      return findings.flat();
    } finally {
      await this.context.end();
    }
  }

  private async check(opening: Promise<RunningService>): Promise<string[]> {
    const { service, url, env } = await opening;
    const ended = endedProcesses(service.processes);
    if (ended.length > 0) return ended;
    await waitUntilCounted(url, CATCH_UP_MS);
    return checkVerify(this.context, env);
  }
}
