import { issueApiKey } from '../../src/api-keys/issue-api-key.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Scope } from '../../src/events/types/api-keys.js';
import { ask } from './ask.js';
import { checkVerify, counted } from './check.js';
import { keysKnown } from './keys.js';
import { open } from './opened.js';
import { died } from './outage.js';
import { builtUrl, type Environment, Process } from './processes.js';
import { Scene } from './scene.js';
import type { Service } from './service.js';
import { eventually } from '../../test/support/eventually.js';
import { type Target, weigh } from './target.js';

/** Those who attack and those who are attacked. */
export const TENANTS = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
/** Those who must not notice. */
export const QUIET = ['quiet-1', 'quiet-2', 'quiet-3'] as const;

const ORGANIZATIONS = [...TENANTS, ...QUIET];
/** Listing the facts of S16 takes some minutes. */
const CATCH_UP_MS = 600_000;
/** Some attacks need hundreds of connections and thousands of requests without a key; each has another against it. */
const LIMITS_OFF = { MAX_CONNECTIONS_PER_ADDRESS: '0', UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0' };
/** For attacks that these are against. An empty setting is as good as none. */
export const DEFAULT_LIMITS = {
  MAX_CONNECTIONS_PER_ADDRESS: '',
  UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '',
  RATE_LIMIT_PER_MINUTE: '',
};

export interface Opened extends Target {
  readonly service: Service;
  readonly log: EventLog;
  readonly env: Environment;
  /** A key that is good at once. */
  issue(scopes: readonly Scope[], organization: string): Promise<{ id: string; key: string }>;
}

const WEIGH = builtUrl('reliability/rig/preload/weigh');

/** The built service on a database of its own. @param env on top of what every process of the rig has */
export const openService = async (
  scene: Scene,
  { env: more = {}, preload = WEIGH }: { env?: Environment | undefined; preload?: string } = {},
): Promise<Opened> => {
  const [database, weights] = [await scene.database(), await scene.folder()];
  const env = { ...LIMITS_OFF, DATABASE_URL: database.url, WEIGHTS: weights, DATA_DIR: await scene.folder(), ...more };
  const { service, log, keys: known } = await open(scene, env, { organizations: ORGANIZATIONS, preload });
  const { ingest, read: keys } = known;
  const senders: Record<string, string> = {};
  for (const organization of ORGANIZATIONS)
    senders[organization] = (await issueApiKey(log, { scopes: ['ingest'], organization })).key;
  await keysKnown(service.url, { ingest: senders['quiet-3']!, read: keys });
  return {
    service,
    log,
    env,
    api: service.api,
    url: service.url,
    ingest,
    keys,
    senders,
    output: () => service.processes.flatMap(({ lines }) => lines).join('\n'),
    weigh: () => weigh(service.api, weights),
    issue: async (scopes, organization) => {
      const issued = await issueApiKey(log, { scopes, organization });
      await eventually(
        'the new key is known',
        async () => (await ask(`${service.url}/v2/organization/asset-groups`, { key: issued.key })).status !== 401,
      );
      return issued;
    },
  };
};

/** One that was written in an afternoon; see `naive-service.ts`. */
export const openNaive = async (scene: Scene, env: Environment = {}): Promise<Target> => {
  const [database, weights] = [await scene.database({ migrated: false }), await scene.folder()];
  const api = Process.start(
    scene,
    'reliability/rig/naive-service',
    { WEIGHTS: weights, DATABASE_URL: database.url, ...env },
    { preload: WEIGH },
  );
  await eventually('the naive service listens', () => api.url !== undefined || !api.isRunning);
  const keys = Object.fromEntries(ORGANIZATIONS.map((organization) => [organization, organization]));
  return {
    api,
    url: api.url!,
    ingest: 'upstream',
    keys,
    senders: keys,
    output: () => api.lines.join('\n'),
    weigh: () => weigh(api, weights),
  };
};

/** The services that attacks meet one after the other. */
export class Site {
  private readonly scene = new Scene(1);
  private readonly openings = new Map<string, Promise<Opened>>();
  private isClosed = false;

  /**
   * Once what the attack before has sent is counted: an attack begins when it is quiet.
   * @param name which of them, so that what one kind of attack leaves behind is not weighed with another
   */
  async service(name = 'filled', env?: Environment): Promise<Opened> {
    const opening = this.openings.get(name) ?? openService(this.scene, { env });
    this.openings.set(name, opening);
    const opened = await opening;
    await counted(opened.url, CATCH_UP_MS);
    return opened;
  }

  /** Ends it. @returns what is not as it must be after all attacks */
  async close(): Promise<string[]> {
    if (this.isClosed) return [];
    this.isClosed = true;
    try {
      const findings = await Promise.all([...this.openings.values()].map((opening) => this.check(opening)));
      return findings.flat();
    } finally {
      await this.scene.end();
    }
  }

  private async check(opening: Promise<Opened>): Promise<string[]> {
    const { service, url, env } = await opening;
    const ended = died(service.processes);
    if (ended.length > 0) return ended;
    await counted(url, CATCH_UP_MS);
    return checkVerify(this.scene, env);
  }
}
