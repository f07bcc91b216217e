import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { newFolder, removeFolders } from '../../support/project-folder.js';

const RUN = '--experimental-vm-modules node_modules/jest/bin/jest.js --selectProjects test --runInBand --no-cache';
const SPECS = ['test/cli/webhooks', 'test/cli/organizations'];

it('The specs use neither the .data of their clone nor the settings and variables of a service beside them', async () => {
  const clone = newFolder('clone', ['src', 'projections', 'test', 'dist', 'jest.config.mjs', '.ci']);
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  // The settings of a service that is out of order.
  const foreign = {
    DATABASE_URL: 'postgres://127.0.0.1:1/foreign',
    DATA_DIR: join(clone, '.data'),
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    SOURCES_FILE: join(clone, 'none.json'),
    MIGRATE_ON_START: 'false',
    INGEST_EVENTS_PER_DAY: '1',
    LOG_LEVEL: 'error',
    THREAT_PROTECTION_API_KEY: 'tp_foreign',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    PGHOST: '127.0.0.1',
    PGPORT: '1',
    PGOPTIONS: '-c search_path=foreign',
    HTTP_PROXY: 'http://127.0.0.1:1',
    TZ: 'Pacific/Auckland',
  };
  const dataDir = join(clone, '.data');
  mkdirSync(dataDir, { mode: 0o755 });
  writeFileSync(join(dataDir, 'first'), '', { mode: 0o644 });
  const before = readdirSync(clone);
  try {
    const { stderr } = await promisify(execFile)(process.execPath, [...RUN.split(' '), ...SPECS], {
      cwd: clone,
      env: { ...process.env, ...foreign, HOME: home },
    });
    expect(stderr).toMatch(/Test Suites: 2 passed, 2 total/);
    // The compiler of the specs has a cache in .cache.
    const inHome = readdirSync(home).filter((name) => name !== '.cache');
    expect({ clone: readdirSync(clone), data: readdirSync(dataDir), inHome }).toEqual({
      clone: before,
      data: ['first'],
      inHome: [],
    });
    expect(statSync(dataDir).mode & 0o777).toBe(0o755);
  } finally {
    removeFolders();
    rmSync(home, { recursive: true });
  }
});
