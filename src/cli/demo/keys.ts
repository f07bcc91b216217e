import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { issueApiKey } from '../../api-keys/issue-api-key.js';
import { type ApiKey, listApiKeys } from '../../api-keys/list-api-keys.js';
import { revokeApiKey } from '../../api-keys/revoke-api-key.js';
import { ORGANIZATION } from '../../demo/row-events.js';
import type { EventLog } from '../../event-log/event-log.js';
import { openEventLog } from '../../event-log/open-event-log.js';
import { MS_PER_DAY } from '../../events/instant.js';
import type { Scope } from '../../events/types/api-keys.js';
import type { Config } from '../../runtime/config.js';
import { say } from '../../runtime/terminal.js';
import { deleteKeyHeaders, type KeyHeaders, type Keys, writeKeyHeaders } from './header-files.js';
import { operatorName } from '../runtime/operator-name.js';

const NAME = 'demo';
const KEYS_LAST_MS = 30 * MS_PER_DAY;
/** Between the choice of the expiry and the issue of the second key, on a machine that is busy or paused. */
const ISSUE_LASTS_MS = 60_000;
/** How long the end of a demo may take for its keys, besides what the service needs to stop. */
const TAKE_BACK_WITHIN_MS = 2_000;

const INGEST: readonly Scope[] = ['ingest'];
const READ_AND_WRITE: readonly Scope[] = ['read', 'write'];

/** @param onIssued is told the id of each key as soon as there is one */
const issueKeys = async (log: EventLog, onIssued: (id: string) => void): Promise<Keys> => {
  const demo = { name: NAME, expiresAt: Date.now() + KEYS_LAST_MS, operator: operatorName() };
  const ingest = await issueApiKey(log, { ...demo, scopes: INGEST });
  onIssued(ingest.id);
  const organization = await issueApiKey(log, { ...demo, scopes: READ_AND_WRITE, organization: ORGANIZATION });
  onIssued(organization.id);
  return { ingest: ingest.key, organization: organization.key };
};

/** A key that an operator named `demo` too has another lifetime, scope or organization. */
const isOfADemo = ({ name, organization, scopes, createdAt, expiresAt }: ApiKey): boolean => {
  if (name !== NAME || expiresAt === undefined) return false;
  const lifetime = expiresAt - createdAt;
  if (lifetime > KEYS_LAST_MS || lifetime < KEYS_LAST_MS - ISSUE_LASTS_MS) return false;
  if (organization === undefined) return isDeepStrictEqual(scopes, INGEST);
  return organization === ORGANIZATION && isDeepStrictEqual(scopes, READ_AND_WRITE);
};

/**
 * Revokes those that are still good.
 * @param isMeant of keys that expire, as a demo's do
 * @returns how many
 */
const revokeWhere = async (log: EventLog, isMeant: (key: ApiKey) => boolean): Promise<number> => {
  const good = (await listApiKeys(log)).filter(
    (key) => isMeant(key) && key.revokedAt === undefined && key.expiresAt! > Date.now(),
  );
  for (const { id } of good) await revokeApiKey(log, id, operatorName());
  return good.length;
};

/** Revokes the keys that demos left in this log, running ones included. @returns how many */
export const revokeDemoKeys = (log: EventLog): Promise<number> => revokeWhere(log, isOfADemo);

const withLogOf = async <Result>(config: Config, work: (log: EventLog) => Promise<Result>): Promise<Result> => {
  const log = await openEventLog(config);
  try {
    return await work(log);
  } finally {
    await log.close();
  }
};

/** The two keys of one demo, from their issue to its end. */
export class DemoKeys {
  readonly #ids: string[] = [];
  #revoke = (): Promise<void> => Promise.resolve();

  /**
   * @param config with the address of the database that runs
   * @param url of the API
   */
  issue(config: Config, url: string): Promise<{ readonly keys: Keys; readonly headers: KeyHeaders }> {
    const issued = withLogOf(config, async (log) => {
      const keys = await issueKeys(log, (id) => this.#ids.push(id));
      return { keys, headers: await writeKeyHeaders(config.dataDir, url, keys) };
    });
    this.#revoke = async () => {
      await issued.catch(() => {});
      await deleteKeyHeaders(config.dataDir, url);
      if (this.#ids.length > 0) await withLogOf(config, (log) => revokeWhere(log, ({ id }) => this.#ids.includes(id)));
    };
    return issued;
  }

  /** Deletes the files and revokes the keys, 2 s at most. Never rejects: the demo ends in any case. */
  async revoke(): Promise<void> {
    const late = sleep(TAKE_BACK_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new Error('the log does not answer');
    });
    try {
      await Promise.race([this.#revoke(), late]);
    } catch (error) {
      say(`The keys of this demo could not be revoked: ${(error as Error).message}`);
      say('They expire after 30 days; `npm run --silent cli -- demo --clean` revokes them before');
    }
  }
}
