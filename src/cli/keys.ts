import type { Command } from 'commander';
import { issueApiKey, type ApiKey, findApiKey, listApiKeys, revokeApiKey } from '../api-keys/api-keys.js';
import { readKeyUses } from '../api-keys/key-uses.js';
import { Invalid, NotFound } from '../errors.js';
import { type Scope, SCOPES } from '../events/types/organizations.js';
import { formatInstant, parseInstant } from '../events/instant.js';
import { say } from '../runtime/terminal.js';
import { operatorName, readKeyFile, type Session, withLog } from './session.js';
import { prints, type Result, table } from './output.js';

interface IssueOptions {
  readonly organization?: string;
  readonly scope: readonly string[];
  readonly name?: string;
  readonly expires?: string;
}

const scopeOf = (text: string): Scope => {
  const scope = SCOPES.find((each) => each === text);
  if (scope === undefined) throw new Invalid(`--scope is "${text}"; it must be one of ${SCOPES.join(', ')}`);
  return scope;
};

const expiryOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant === undefined)
    throw new Invalid(`--expires is "${text}"; it must be a date or a date-time with an offset (2027-01-31T12:00:00Z)`);
  return instant;
};

const text = (instant: number | undefined): string | null => (instant === undefined ? null : formatInstant(instant));

interface ListedKey extends ApiKey {
  /** When the key was last used, in ms, to the minute; undefined if the key was never used. */
  readonly lastUsedAt: number | undefined;
}

/** Returns the fields of a key in the order of `HEADINGS`. */
const toJson = (key: ListedKey): Record<string, string | readonly string[] | null> => ({
  id: key.id,
  name: key.name ?? null,
  organization: key.organization ?? null,
  scopes: key.scopes,
  createdAt: text(key.createdAt),
  expiresAt: text(key.expiresAt),
  revokedAt: text(key.revokedAt),
  lastUsedAt: text(key.lastUsedAt),
  issuedBy: key.issuedBy ?? null,
  revokedBy: key.revokedBy ?? null,
});

const HEADINGS = 'id name organization scopes createdAt expiresAt revokedAt lastUsedAt issuedBy revokedBy'.split(' ');

const readKeys = async ({ log, pool }: Session): Promise<ListedKey[]> => {
  const [keys, uses] = await Promise.all([listApiKeys(log), readKeyUses(pool)]);
  return keys.map((key) => ({ ...key, lastUsedAt: uses.get(key.id) }));
};

const issue = ({ organization, scope, name, expires }: IssueOptions): Promise<Result> => {
  const scopes = [...new Set(scope.map(scopeOf))];
  const expiresAt = expiryOf(expires);
  return withLog(async ({ log }) => {
    const { id, key } = await issueApiKey(log, { scopes, organization, name, expiresAt, operator: operatorName() });
    say(`The key ${id} works within a second. It is shown only now:`);
    return { lines: [key], json: { id, key } };
  });
};

const list = async ({ keyFile }: { readonly keyFile?: string }): Promise<Result> => {
  const key = keyFile === undefined ? undefined : await readKeyFile(keyFile);
  return withLog(async (session) => {
    const id = key === undefined ? undefined : await findApiKey(session.log, key);
    const keys = (await readKeys(session)).filter((each) => id === undefined || each.id === id).map(toJson);
    return { lines: table(HEADINGS, keys.map(Object.values)), json: keys };
  });
};

/**
 * Refuses a key in place of its id, without repeating the key, which may be what has leaked.
 * @throws Invalid
 */
const requireId = (id: string): void => {
  if (id.trim().startsWith('tp_'))
    throw new Invalid('<id> is a key, not its id, which begins with "key_": see `keys list --key-file FILE`');
};

const revoke = async (id: string): Promise<Result> => {
  requireId(id);
  return withLog(async (session) => {
    await revokeApiKey(session.log, id, operatorName());
    const key = (await readKeys(session)).find((each) => each.id === id);
    if (!key) throw new NotFound(`Unknown key ${id}`);
    return { lines: table(HEADINGS, [Object.values(toJson(key))]), json: toJson(key) };
  });
};

const collect = (value: string, values: readonly string[] = []): string[] => [...values, value];

export const addKeyCommands = (program: Command): void => {
  const keys = program.command('keys').description('API keys: issue, list, revoke');
  prints(
    keys
      .command('issue')
      .description('issue a key; it is shown only once')
      .option('--organization <slug>', 'the organization of the key; may be omitted only if ingest or lists is the only scope')
      .requiredOption('--scope <scope>', `${SCOPES.join(', ')}; may be repeated`, collect)
      .option('--name <text>', 'a name that identifies the key in `keys list`')
      .option('--expires <iso>', 'when the key expires: a date, or a date-time with an offset'),
    issue,
  );
  prints(
    keys
      .command('list')
      .description('list every key that was ever issued')
      .option('--key-file <file>', 'list only the key in this file, - for standard input; the key is not printed'),
    list,
  );
  prints(
    keys.command('revoke').argument('<id>').description('revoke a key; takes effect on every instance within a second'),
    revoke,
  );
};
