import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { apiFlags } from '../src/cli/start.js';
import { readConfig } from '../src/runtime/config.js';

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly read_only?: boolean;
  readonly security_opt?: readonly string[];
  readonly mem_limit?: string;
  readonly cap_drop?: readonly string[];
}
interface Compose {
  readonly services: Readonly<
    Record<'migrate' | 'eventstore' | 'postgres' | 'api' | 'projector' | 'deliveries', Service>
  >;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const file = readFileSync('docker-compose.yml', 'utf8');
const PASSWORD = 'onlyForThisSpec';
// Replaces variables as compose does: an unset variable takes its default, or fails (`:?`) if it has none.
const text = file.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace(/\$\{POSTGRES_PASSWORD:\?[^}]+\}/g, PASSWORD);
const compose = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) }) as Compose;
const { migrate, eventstore, postgres, api, projector, deliveries } = compose.services;
const dockerfile = readFileSync('Dockerfile', 'utf8');

describe('docker-compose.yml', () => {
  it('runs the migration, the event store, PostgreSQL, the API, the projector and the deliveries', () => {
    expect(Object.keys(compose.services)).toEqual([
      'migrate',
      'eventstore',
      'postgres',
      'api',
      'projector',
      'deliveries',
    ]);
  });

  it('pins every image', () => {
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/^[a-z/-]+:\d+\.\d+/);
  });

  it('gives the processes valid settings', () => {
    for (const { environment } of [migrate, api, projector, deliveries]) {
      const config = readConfig(environment);
      expect(config.databaseUrl).toBe(`postgres://threats:${PASSWORD}@postgres:5432/threats`);
      expect(config.eventStoreUrl).toBe('esdb://eventstore:2113?tls=false');
      expect(config.migrates).toBe(false);
    }
  });

  it('does not start without a database password', () => {
    expect(file.match(/\$\{\w*PASSWORD[^}]*\}/g)).toEqual(
      Array.from({ length: 2 }, () => expect.stringMatching(/^\$\{POSTGRES_PASSWORD:\?.+\}$/)),
    );
    expect(postgres.environment).toMatchObject({ POSTGRES_PASSWORD: PASSWORD });
    expect(file.replaceAll(/\$\{[^}]*\}/g, '')).not.toMatch(/PASSWORD: *\w|:\/\/\w+:\w+@/);
  });

  it('creates the role of the service, which is not a superuser, before the service starts', () => {
    const script = postgres.volumes!.find((volume) => volume.includes('/docker-entrypoint-initdb.d/'))!.split(':')[0]!;
    expect(readFileSync(script, 'utf8')).toContain('create role threats login');
    expect(postgres.environment).not.toHaveProperty('POSTGRES_USER');
    // While the script runs, the server listens on its socket only.
    expect(postgres.healthcheck?.test?.join()).toContain('--host 127.0.0.1 --username threats');
  });

  it('starts only files that the build creates', () => {
    for (const { command } of [api, projector, deliveries]) {
      expect(command![0]).toBe('node');
      expect(existsSync(command!.at(-1)!.replace(/^dist\/(.*)\.js$/, '$1.ts'))).toBe(true);
    }
    expect(migrate.command).toEqual(['node', 'dist/src/cli.js', 'migrate']);
    expect(dockerfile).toContain('"dist/src/main.js"]');
  });

  it('starts the API with the flags of npm start, as the Dockerfile and docs/operations/deployment.md do', () => {
    const command = (eventStoreUrl?: string): string[] => ['node', ...apiFlags(eventStoreUrl), 'dist/src/main.js'];
    expect(api.command).toEqual(command(api.environment['EVENTSTORE_URL']));
    expect(dockerfile).toContain(`CMD ${JSON.stringify(command()).replaceAll(',', ', ')}`);
    expect(readFileSync('docs/operations/deployment.md', 'utf8')).toContain(`\`${command().join(' ')}\``);
  });

  it('starts the stores, then the migration, then the API, then the other processes', () => {
    expect(migrate.depends_on).toEqual({
      eventstore: { condition: 'service_healthy' },
      postgres: { condition: 'service_healthy' },
    });
    expect(api.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    for (const { depends_on } of [projector, deliveries])
      expect(depends_on).toEqual({ api: { condition: 'service_healthy' } });
    expect(eventstore.healthcheck?.test).toBeDefined();
    expect(postgres.healthcheck?.test).toBeDefined();
    expect(dockerfile).toContain('HEALTHCHECK');
    for (const [{ healthcheck }, port] of [
      [projector, api.environment['PROJECTOR_OPS_PORT']],
      [deliveries, api.environment['DELIVERIES_OPS_PORT']],
    ] as const)
      expect(healthcheck!.test!.join()).toContain(`127.0.0.1:${port}/health/ready`);
  });

  it('connects the stores only to an internal network', () => {
    expect(compose.networks['stores']).toEqual({ internal: true });
    for (const { networks, ports } of [eventstore, postgres]) {
      expect(networks).toEqual(['stores']);
      expect(ports).toBeUndefined();
    }
    for (const address of api.ports!) expect(address).toMatch(/^127\.0\.0\.1:/);
  });

  it('keeps the data of the stores in volumes', () => {
    for (const { volumes } of Object.values(compose.services))
      for (const volume of volumes!.filter((each) => !each.startsWith('./')))
        expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    expect(eventstore.volumes!.join()).toContain(':/var/lib/eventstore');
    expect(postgres.volumes!.join()).toContain(':/var/lib/postgresql/data');
  });

  it('drops all capabilities that a process does not need, and limits the memory of each process', () => {
    for (const { cap_drop, security_opt, mem_limit } of Object.values(compose.services)) {
      expect(cap_drop).toEqual(['ALL']);
      expect(security_opt).toEqual(['no-new-privileges:true']);
      expect(mem_limit).toMatch(/^\dg$/);
    }
  });

  it('runs the processes of the service as an ordinary user on a read-only file system', () => {
    for (const { read_only, cap_drop } of [migrate, api, projector, deliveries]) {
      expect(read_only).toBe(true);
      expect(cap_drop).toEqual(['ALL']);
    }
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile.match(/^FROM node:24-/gm)).toHaveLength(2);
  });
});
