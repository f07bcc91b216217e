import { describe, expect, it } from '@jest/globals';
import { ConfigError, environmentOf, readConfig } from '../../../src/runtime/config.js';

const FOLLOWS_PRIMARY =
  'give one address that follows the primary: a service of the orchestrator, a TCP proxy such as HAProxy, or a name in ' +
  'DNS (docs/operations/high-availability.md)';
const OF_REPLICAS = 'give one address that leads to the replicas (docs/operations/high-availability.md)';
const ENCODE = 'percent-encode the characters of the user name and the password that are not letters or digits';
const COLLECTOR = 'http://collector:4318';

describe('readConfig', () => {
  it('applies the defaults and treats an empty variable as absent', () => {
    expect(readConfig({ PORT: ' ', DATABASE_URL: '' })).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      opsPort: undefined,
      databaseUrl: undefined,
      eventStoreUrl: undefined,
      accessLog: true,
      rateLimitPerMinute: 6000,
      trustProxy: [],
    });
  });

  it('verifies the certificate of a database by the authorities of Node with sslrootcert=system', () => {
    for (const query of [
      'sslrootcert=system',
      'sslmode=require&sslrootcert=system',
      'sslrootcert=system&sslmode=verify-full',
    ])
      for (const name of ['DATABASE_URL', 'DATABASE_READ_URL'] as const) {
        const { databaseUrl, databaseReadUrl } = readConfig({
          DATABASE_URL: 'postgres://u:s%40t@h/d',
          [name]: `postgres://u:s%40t@h:5433/d?${query}&application_name=a`,
        });
        const url = new URL((name === 'DATABASE_URL' ? databaseUrl : databaseReadUrl)!);
        expect([url.username, url.password, url.host]).toEqual(['u', 's%40t', 'h:5433']);
        expect(Object.fromEntries(url.searchParams)).toEqual({ sslmode: 'verify-full', application_name: 'a' });
      }
  });

  it('rejects an invalid setting with its name, and never repeats a value that may contain a password', () => {
    for (const [env, message] of [
      [{ PORT: '70000' }, 'PORT is "70000"; it must be a whole number from 0 to 65535'],
      ...[
        ['DATABASE_DIRECT_URL', 'set both to the same database'],
        ['DATABASE_READ_URL', 'set it to the primary of the replicas'],
      ].map(
        ([name, advice]) =>
          [{ [name!]: 'postgres://h/d' }, `${name} is set, but DATABASE_URL is not; ${advice}`] as const,
      ),
      [{ OPS_HOST: '::1' }, 'OPS_HOST is set, but OPS_PORT is not; set OPS_PORT to the port for operators'],
      ...[
        'postgres://u:secret@a,b/d?target_session_attrs=read-write',
        'postgres://u:secret@a%2Cb/d',
        'postgres:///d?user=u&password=secret&host=a,b',
      ].flatMap((url) => [
        [{ DATABASE_URL: url }, `DATABASE_URL names several hosts; ${FOLLOWS_PRIMARY}`] as const,
        [{ DATABASE_READ_URL: url }, `DATABASE_READ_URL names several hosts; ${OF_REPLICAS}`] as const,
        [
          { DATABASE_URL: 'postgres://h/d', DATABASE_DIRECT_URL: url },
          `DATABASE_DIRECT_URL names several hosts; ${FOLLOWS_PRIMARY}`,
        ] as const,
      ]),
      ...['DATABASE_URL', 'DATABASE_READ_URL'].flatMap((name) => [
        [{ [name]: 'postgres://u:sec#ret@h:5432/d' }, `${name} contains "#"; ${ENCODE}`] as const,
        [{ [name]: 'postgres://u:secret@h:port/d' }, `${name} cannot be parsed: Invalid URL; ${ENCODE}`] as const,
        [{ [name]: 'postgres://u:secret@h:70000/d' }, `${name} cannot be parsed: Invalid URL; ${ENCODE}`] as const,
        [{ [name]: 'postgres://u:secret%ff@h/d' }, `${name} cannot be parsed: URI malformed; ${ENCODE}`] as const,
        [
          { [name]: 'postgres://u:secret@h/d?sslrootcert=/nowhere/ca.pem' },
          `${name} names the file /nowhere/ca.pem, which cannot be read (ENOENT); correct its path`,
        ] as const,
      ]),
      [
        { DATABASE_URL: 'postgres://u:secret@h/d?sslmode=disable&sslrootcert=system' },
        'DATABASE_URL has sslrootcert=system; set sslmode=verify-full, not disable',
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
        'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "grpc"; it must be http/protobuf',
      ],
      [{ WEBHOOK_PROXY: 'http://u:secret@h:port' }, `WEBHOOK_PROXY is not a valid URL; ${ENCODE}`],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:secret@h:port' },
        `OTEL_EXPORTER_OTLP_ENDPOINT is not a valid URL; ${ENCODE}`,
      ],
      [{ DATABASE_URL: 'mysql://u:secret@h' }, 'DATABASE_URL must begin with postgres:// or postgresql://'],
      [
        { TRUST_PROXY: '10.0.0.0/40' },
        'TRUST_PROXY contains "10.0.0.0/40"; each entry must be an IP address or a network (10.0.0.0/8)',
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://secret@collector' },
        'OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://',
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
        'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; it must be http/protobuf',
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_TRACES_SAMPLER: 'some' },
        'OTEL_TRACES_SAMPLER is "some"; it must be always_on or parentbased_always_on or always_off or parentbased_always_off or traceidratio or parentbased_traceidratio',
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_TRACES_SAMPLER_ARG: '1 %' },
        'OTEL_TRACES_SAMPLER_ARG is "1 %"; it must be a number from 0 to 1',
      ],
    ] as const)
      expect(() => readConfig(env)).toThrow(new ConfigError(message));
  });

  it('accepts a database URL with a comma in its password, an IPv6 address, a socket or TLS', () => {
    for (const url of [
      'postgres://u:a,b@db/d',
      'postgres://u:a%23b%@db/d',
      'postgres://u:p@/d?host=/run/postgresql',
      'postgres://db/d?sslmode=verify-full',
      'postgres://[::1]:5433/d',
      'postgres:///d?host=/run/postgresql',
    ])
      expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }, { sampler: 'parentbased_always_on', share: 1 }],
    [
      {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/v1/traces`,
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '.01',
      },
      { sampler: 'traceidratio', share: 0.01 },
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'TRUE' }, undefined],
  ])('reads the environment %j as the trace sampling %j', (env, sampling) => {
    expect(readConfig(env).sampling).toEqual(sampling);
    // A child process also gets the other variables that the SDK reads.
    expect(environmentOf(readConfig({ ...env, OTEL_BSP_SCHEDULE_DELAY: '1' }), {})).toEqual({
      ...env,
      OTEL_BSP_SCHEDULE_DELAY: '1',
    });
  });

  it('does not pass the variables of libpq to a child process if the database is embedded', () => {
    const env = { PGPORT: '9999', PGSSLMODE: 'require', PATH: '/bin' };
    const embedded = { databaseUrl: 'postgres://localhost/postgres' };
    expect(environmentOf(readConfig(env), embedded)).toEqual({ PATH: '/bin', DATABASE_URL: embedded.databaseUrl });
    const external = { ...env, DATABASE_URL: 'postgres://db/d' };
    expect(environmentOf(readConfig(external), {})).toEqual(external);
  });

  it('passes the settings to a child process as they were first read, with the overrides', () => {
    const env: NodeJS.ProcessEnv = { LOG_LEVEL: 'warn', PORT: '0', SECRET_OF_A_SOURCE: 'x', OPERATORS_OWN: 'secret' };
    const config = readConfig(env);
    // The sources file may name further variables.
    config.variable('SECRET_OF_A_SOURCE');
    env['LOG_LEVEL'] = 'debug';
    const child = environmentOf(config, { port: 4711, databaseUrl: 'postgres://localhost/db' });
    expect(child).toEqual({
      LOG_LEVEL: 'warn',
      PORT: '4711',
      SECRET_OF_A_SOURCE: 'x',
      DATABASE_URL: 'postgres://localhost/db',
    });
    expect(readConfig(child)).toMatchObject({ port: 4711, databaseUrl: 'postgres://localhost/db', logLevel: 'warn' });
  });
});
