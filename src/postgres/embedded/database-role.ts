import { Client } from 'pg';
import type { ClusterLayout } from './cluster-layout.js';
import { SUPERUSER } from './cluster.js';
import { type Postmaster, urlOf } from './endpoint.js';
import { choosePassword } from './passwords.js';

/** The role the service connects as: not a superuser, so that a flaw in the service does not give access to the machine. */
export const SERVICE_ROLE = 'threat_protection';

/**
 * Creates the role. In clusters of earlier versions, which created everything as superuser, also makes the role the
 * owner of everything. Two processes may run these statements at the same time.
 */
const statementsFor = (password: string): string => `
begin;
select pg_advisory_xact_lock(20261125);
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
  for thing in
    select format('schema %I', nspname) as name from pg_namespace where nspname ~ ours
    union all
    select format('table %s', c.oid::regclass) from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname ~ ours and relkind = 'r'
    union all
    select format('function %s', p.oid::regprocedure) from pg_proc p join pg_namespace n on n.oid = pronamespace
    where nspname ~ ours
  loop
    execute format('alter %s owner to ${SERVICE_ROLE}', thing.name);
  end loop;
end
$$;
commit`;

/** Creates the role, or sets its password to that of the role's password file. */
export const createServiceRole = async (layout: ClusterLayout, postmaster: Postmaster): Promise<void> => {
  const connectionString = urlOf(postmaster, SUPERUSER, await choosePassword(layout.passwordFile));
  const client = new Client({ connectionString });
  try {
    await client.connect();
    await client.query(statementsFor(await choosePassword(layout.rolePasswordFile)));
  } catch (cause) {
    throw new Error(
      `The role ${SERVICE_ROLE} could not be created in ${layout.cluster} with the superuser's password in ` +
        `${layout.passwordFile}: ${(cause as Error).message}`,
      { cause },
    );
  } finally {
    await client.end();
  }
};
