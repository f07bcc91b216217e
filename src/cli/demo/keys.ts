import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { issueApiKey, type ApiKey, listApiKeys, revokeApiKey } from '../../api-keys/api-keys.js';
import { ORGANIZATION } from './row-events.js';
import type { EventLog } from '../../event-log/event-log.js';
import { openEventLog } from '../../event-log/open-event-log.js';
import { MS_PER_DAY } from '../../events/instant.js';
import type { Scope } from '../../events/types/organizations.js';
import type { Config } from '../../runtime/config.js';
import { say } from '../../runtime/terminal.js';
import { deleteKeyHeaders, type KeyHeaders, type Keys, writeKeyHeaders } from './header-files.js';
import { operatorName } from '../session.js';

const NAME = 'demo';
const LIFETIME_MS = 30 * MS_PER_DAY;
/** Maximum time between choosing the expiry and issuing the second key, on a busy or paused machine. */
const MAX_ISSUE_MS = 60_000;
/** How long the revocation may delay the end of a demo. */
const REVOKE_TIMEOUT_MS = 2_000;

const INGEST: readonly Scope[] = ['ingest'];
const READ_AND_WRITE: readonly Scope[] = ['read', 'write'];

/** @param onIssued called with the id of each key as soon as the key exists */
const issueKeys = async (log: EventLog, onIssued: (id: string) => void): Promise<Keys> => {
  const demo = { name: NAME, expiresAt: Date.now() + LIFETIME_MS, operator: operatorName() };
  const ingest = await issueApiKey(log, { ...demo, scopes: INGEST });
  onIssued(ingest.id);
  const organization = await issueApiKey(log, { ...demo, scopes: READ_AND_WRITE, organization: ORGANIZATION });
  onIssued(organization.id);
  return { ingest: ingest.key, organization: organization.key };
};

/**
 * Whether a key belongs to a demo. Not only the name is compared, but also lifetime, scopes and organization, because
 * an operator may name another key `demo`.
 */
const isDemoKey = ({ name, organization, scopes, createdAt, expiresAt }: ApiKey): boolean => {
  if (name !== NAME || expiresAt === undefined) return false;
  const lifetime = expiresAt - createdAt;
  if (lifetime > LIFETIME_MS || lifetime < LIFETIME_MS - MAX_ISSUE_MS) return false;
  if (organization === undefined) return isDeepStrictEqual(scopes, INGEST);
  return organization === ORGANIZATION && isDeepStrictEqual(scopes, READ_AND_WRITE);
};

/**
 * Revokes the selected keys that are still valid.
 * @param isSelected must select only keys that have an expiry
 * @returns how many keys were revoked
 */
const revokeWhere = async (log: EventLog, isSelected: (key: ApiKey) => boolean): Promise<number> => {
  const valid = (await listApiKeys(log)).filter(
    (key) => isSelected(key) && key.revokedAt === undefined && key.expiresAt! > Date.now(),
  );
  for (const { id } of valid) await revokeApiKey(log, id, operatorName());
  return valid.length;
};

/** Revokes the keys of all demos in this log, including running demos. @returns how many keys were revoked */
export const revokeDemoKeys = (log: EventLog): Promise<number> => revokeWhere(log, isDemoKey);

export const withLogOf = async <Result>(config: Config, work: (log: EventLog) => Promise<Result>): Promise<Result> => {
  const log = await openEventLog(config);
  try {
    return await work(log);
  } finally {
    await log.close();
  }
};

/** Issues and revokes the two keys of one demo. */
export class DemoKeys {
  readonly #ids: string[] = [];
  #revoke = (): Promise<void> => Promise.resolve();

  /**
   * @param config has the URL of the running database
   * @param url the URL of the API
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

  /** Deletes the header files and revokes the keys. Takes at most 2 s and never rejects, so that the demo always ends. */
  async revoke(): Promise<void> {
    const timeout = sleep(REVOKE_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error('the log did not answer in time');
    });
    try {
      await Promise.race([this.#revoke(), timeout]);
    } catch (error) {
      say(`The keys of this demo could not be revoked: ${(error as Error).message}`);
      say(
        'The keys of this demo expire after 30 days. To revoke the keys now, run `node dist/src/cli.js demo --clean`',
      );
    }
  }
}
