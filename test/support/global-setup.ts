import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// Built, because Jest loads this file without the rules by which it loads the specs.
const HOLDER = join(process.cwd(), 'dist', 'test', 'support', 'run-database.js');

/**
 * What the whole run shares: sources of the check that talk to nobody in the world, and one PostgreSQL, the one that is
 * named or an embedded one.
 */
export default async (): Promise<void> => {
  process.env['SOURCES_FILE'] = join(process.cwd(), 'test', 'support', 'own-only.json');
  if (process.env['TEST_DATABASE_URL']) return;
  if (!existsSync(HOLDER)) throw new Error('Run "npm run build" first, or set TEST_DATABASE_URL');
  const holder = spawn(process.execPath, [HOLDER], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  globalThis.testDatabaseHolder = holder;
  for await (const line of createInterface(holder.stdout)) {
    process.env['TEST_DATABASE_URL'] = line;
    process.env['TEST_DATABASE_ENDS_WITH_RUN'] = 'yes';
    return;
  }
  throw new Error('The tests have no database; the reason stands above');
};

declare global {
  var testDatabaseHolder: ChildProcess | undefined;
}
