import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// These programs are built, because Jest loads this file without the transforms of the specs.
const BUILT = join(process.cwd(), 'dist', 'test', 'support');
const HOLDER = join(BUILT, 'run-database.js');
const WRITER = join(BUILT, 'write-document.js');

/**
 * The variables that a run keeps: those of the machine, of Node, npm and Jest, and those that select what the specs do.
 * Every other variable may be a setting of a service that runs beside the specs, or of its database.
 */
const KEPT = new RegExp(
  `^(?:${[
    'PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TEMP|TMP|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|(?:LOCAL)?APPDATA|USERPROFILE',
    '(?:NODE|NPM|JEST|TEST|GROUPS|UPGRADE)_\\w+|CI|CHROMIUM|PICTURES|RECORD_PAGES|REQUIRE_ALL|EARLY_ANSWERS|SEED',
  ].join('|')})$`,
  'i',
);

/**
 * Prepares what all specs of a run share: an environment without the settings of another service, a configuration of the
 * asset check without external sources, the API reference of the build, and one PostgreSQL, that of `TEST_DATABASE_URL`
 * or an embedded one.
 */
export default async (): Promise<void> => {
  for (const name of Object.keys(process.env)) if (!KEPT.test(name)) delete process.env[name];
  process.env['SOURCES_FILE'] = join(process.cwd(), 'test', 'support', 'own-only.json');
  if (!existsSync(WRITER)) throw new Error('Run "npm run build" first');
  const folder = mkdtempSync(join(tmpdir(), 'threat-protection-reference-'));
  globalThis.testReferenceFolder = folder;
  // Replaces the default, which is a folder of the service that was started in this working directory.
  process.env['DATA_DIR'] = join(folder, 'data');
  process.env['OPENAPI_DOCUMENT'] = join(folder, 'openapi.json');
  try {
    await Promise.all([
      promisify(execFile)(process.execPath, [WRITER, process.env['OPENAPI_DOCUMENT']]),
      process.env['TEST_DATABASE_URL'] ? undefined : holdDatabase(),
    ]);
  } catch (error) {
    // Jest does not call the teardown of a run whose setup has failed.
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
};

const holdDatabase = async (): Promise<void> => {
  const holder = spawn(process.execPath, [HOLDER], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  globalThis.testDatabaseHolder = holder;
  for await (const line of createInterface(holder.stdout)) {
    process.env['TEST_DATABASE_URL'] = line;
    process.env['TEST_DATABASE_ENDS_WITH_RUN'] = 'yes';
    return;
  }
  throw new Error('The test database did not start; the reason is printed above');
};

declare global {
  var testDatabaseHolder: ChildProcess | undefined;
  var testReferenceFolder: string | undefined;
}
