import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Binaries } from './binaries.js';
import type { ClusterLayout } from './cluster-layout.js';

/** The role the service connects as: not a superuser, so that a flaw in the service does not give access to the machine. */
export const SERVICE_ROLE = 'threat_protection';

/** Includes recovery if the server was killed. Milliseconds. */
const TIME_LIMIT = 300_000;

/** Reassigns everything in clusters that earlier versions created as superuser. */
const statementsFor = (password: string): string => `
do $$
declare
  ours constant text := '^(log|read|read_(next|check)_.*)$';
  thing record;
begin
  if not exists (select from pg_roles where rolname = '${SERVICE_ROLE}') then
    create role ${SERVICE_ROLE} login;
  end if;
  alter role ${SERVICE_ROLE} password '${password}';
  grant create on database postgres to ${SERVICE_ROLE};
  for thing in select nspname as name from pg_namespace where nspname ~ ours loop
    execute format('alter schema %I owner to ${SERVICE_ROLE}', thing.name);
  end loop;
  for thing in
    select c.oid::regclass as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ ours and c.relkind = 'r'
  loop
    execute format('alter table %s owner to ${SERVICE_ROLE}', thing.name);
  end loop;
  for thing in
    select p.oid::regprocedure as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname ~ ours
  loop
    execute format('alter function %s owner to ${SERVICE_ROLE}', thing.name);
  end loop;
end
$$;

`;

export const hasServiceRole = ({ rolePasswordFile }: ClusterLayout): boolean => existsSync(rolePasswordFile);

/**
 * Creates the role with a random password while the server is stopped: PostgreSQL's single-user mode needs neither a
 * client nor the superuser's password.
 */
export const createServiceRole = async (
  { cluster, owner, rolePasswordFile }: ClusterLayout,
  { postgres }: Binaries,
): Promise<void> => {
  const password = randomBytes(24).toString('hex');
  const server = spawn(
    postgres,
    ['--single', '-j', '-D', cluster, '-c', 'log_min_error_statement=panic', '-c', 'logging_collector=off', 'postgres'],
    {
      ...owner,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['pipe', 'ignore', 'pipe'],
      timeout: TIME_LIMIT,
      windowsHide: true,
    },
  );
  const ended = once(server, 'close') as Promise<[code: number | null]>;
  // If it exits immediately, the reason is on stderr.
  server.stdin.on('error', () => {});
  server.stdin.end(statementsFor(password));
  const [words, [code]] = await Promise.all([text(server.stderr), ended]);
  if (code !== 0 || /^.*(ERROR|FATAL|PANIC):/m.test(words))
    throw new Error(`The service's role could not be created in ${cluster}: ${words.trim() || `code ${code}`}`);
  const partial = `${rolePasswordFile}.partial`;
  await writeFile(partial, password, { mode: 0o600 });
  await rename(partial, rolePasswordFile);
};

export const readRolePassword = async ({ rolePasswordFile, cluster }: ClusterLayout): Promise<string> => {
  try {
    return await readFile(rolePasswordFile, 'utf8');
  } catch (cause) {
    throw new Error(`The password of the database in ${cluster} cannot be read from ${rolePasswordFile}`, { cause });
  }
};
