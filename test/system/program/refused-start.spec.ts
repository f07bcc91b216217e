import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';
import { removeFolder, temporaryFolder } from '../../support/installation.js';
import { sharedDatabase } from '../../support/open-for-tests.js';
import { type Program, startProgram } from '../../support/program.js';
import { queryOnce } from '../../support/query-once.js';

const TIMEOUT_MS = 120_000;
const PROGRAMS = ['src/main.js', 'projections/main.js', 'src/deliver.js'] as const;

const database = sharedDatabase();

describe('A process of a deployment', () => {
  let folder: string;
  const servers: Server[] = [];
  const listen = async (server: Server): Promise<number> => {
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await removeFolder(folder);
  });

  it.each(PROGRAMS)(
    'creates no database of its own: %s exits with 78 and says that DATABASE_URL is not set',
    async (program) => {
      const dataDir = join(folder, 'none');
      const env = { DATABASE_URL: '', DATABSE_URL: database.url, DATA_DIR: dataDir, PORT: '0' };
      const ended = startProgram(program, [], { env });
      expect(await ended.ended()).toBe(EXIT_CONFIG);
      expect(ended.output().trimEnd().split('\n')).toEqual([
        expect.stringContaining('DATABASE_URL is not set: set it to'),
      ]);
      expect(existsSync(dataDir)).toBe(false);
    },
    TIMEOUT_MS,
  );

  describe('whose port stays in use', () => {
    const cases = [
      ['src/main.js', 'PORT'],
      ['src/main.js', 'OPS_PORT'],
      ['projections/main.js', 'PROJECTOR_OPS_PORT'],
      ['src/deliver.js', 'DELIVERIES_OPS_PORT'],
    ] as const;
    const started = new Map<string, Program>();
    let port: number;

    // All at once, because each program waits for its port before it exits.
    beforeAll(async () => {
      port = await listen(createServer());
      for (const [program, setting] of cases) {
        const env = { DATABASE_URL: database.url, PORT: '0', [setting]: String(port) };
        started.set(setting, startProgram(program, [], { env }));
      }
    });

    it.each(cases)(
      'exits with 78 and one line: %s with %s',
      async (_, setting) => {
        const ended = started.get(setting)!;
        expect(await ended.ended()).toBe(EXIT_CONFIG);
        const lines = ended.output().trimEnd().split('\n');
        expect(lines).toEqual([
          expect.stringContaining(`127.0.0.1:${port} is in use by another process; stop it, or set`),
        ]);
      },
      TIMEOUT_MS,
    );
  });

  it(
    'exits with 78 and one line if PostgreSQL is too old',
    async () => {
      const { hostname: host, port } = new URL(database.url);
      const [row] = (await queryOnce(database.url, 'show server_version_num')) as { server_version_num: string }[];
      const pretend = await listen(
        createServer((near) => {
          const far = connect({ host, port: Number(port) });
          for (const socket of [near, far])
            socket
              .on('error', () => {})
              .on('close', () => {
                near.destroy();
                far.destroy();
              });
          near.pipe(far);
          far.on('data', (chunk: Buffer) =>
            near.write(chunk.toString('latin1').replaceAll(row!.server_version_num, '130023'), 'latin1'),
          );
        }),
      );
      const { href } = Object.assign(new URL(database.url), { hostname: '127.0.0.1', port: String(pretend) });
      const started = PROGRAMS.map((program) => startProgram(program, [], { env: { DATABASE_URL: href, PORT: '0' } }));
      for (const ended of started) {
        expect(await ended.ended()).toBe(EXIT_CONFIG);
        const lines = ended.output().trimEnd().split('\n');
        expect(lines).toEqual([expect.stringContaining('PostgreSQL 13.23 is too old: 15 or later is needed')]);
      }
    },
    TIMEOUT_MS,
  );
});
