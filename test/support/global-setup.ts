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
 * Prepares what all specs of a run share: a configuration of the asset check without external sources, the API
 * reference of the build, and one PostgreSQL, that of `TEST_DATABASE_URL` or an embedded one.
 */
export default async (): Promise<void> => {
  process.env['SOURCES_FILE'] = join(process.cwd(), 'test', 'support', 'own-only.json');
  if (!existsSync(WRITER)) throw new Error('Run "npm run build" first');
  const folder = mkdtempSync(join(tmpdir(), 'threat-protection-reference-'));
  globalThis.testReferenceFolder = folder;
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
