import { describe, expect, it } from '@jest/globals';
import { ConfigError, environmentOf, readConfig } from '../../src/runtime/config.js';

describe('the settings', () => {
  it('have defaults, and an empty variable counts as absent', () => {
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

  it('name the variable that cannot be used, and never repeat what may hold a password', () => {
    for (const [env, message] of [
      [{ PORT: '70000' }, 'PORT is "70000"; it must be a whole number from 0 to 65535'],
      [{ OPS_HOST: '::1' }, 'OPS_HOST is set, but no OPS_PORT is; a listener for operators needs a port'],
      [{ DATABASE_URL: 'mysql://u:secret@h' }, 'DATABASE_URL must begin with postgres:// or postgresql://'],
      [
        { TRUST_PROXY: '10.0.0.0/40' },
        'TRUST_PROXY holds "10.0.0.0/40"; it may hold addresses and networks (10.0.0.0/8)',
      ],
    ] as const)
      expect(() => readConfig(env)).toThrow(new ConfigError(message));
  });

  it('reach a child as they were read, with what has been decided since', () => {
    const env: NodeJS.ProcessEnv = { LOG_LEVEL: 'warn', PORT: '0', SECRET_OF_A_SOURCE: 'x', OPERATORS_OWN: 'secret' };
    const config = readConfig(env);
    // As the sources file names it.
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
