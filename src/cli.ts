#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addBrands } from './cli/brands.js';
import { addDemo } from './cli/demo.js';
import { addFlags } from './cli/flags.js';
import { addKeys } from './cli/keys.js';
import { addLog } from './cli/log.js';
import { addMigrate } from './cli/migrate.js';
import { FAILED, WRONG_USAGE } from './cli/output.js';
import { addProjections } from './cli/projections.js';
import { addReplay } from './cli/replay.js';
import { addSources } from './cli/sources.js';
import { start } from './cli/start.js';
import { ConfigError, readConfig } from './config.js';

const program = new Command('threat-protection')
  .description('The operator’s command: results on standard output, words on standard error')
  // Before any call is added: each takes it over.
  .exitOverride()
  .showHelpAfterError('(--help says more)');

program
  .command('start')
  .description('the database where none is set, the API and the projector, until a signal stops them')
  .action(async () => process.exit(await start(readConfig())));
for (const add of [addKeys, addBrands, addFlags, addProjections, addReplay, addSources, addDemo, addLog, addMigrate])
  add(program);

// Whoever closes the terminal or the pipe still has everything stopped in order; there is nobody left to tell.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Asking for help is no mistake; anything else that commander says is one.
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
  } else {
    console.error(error instanceof ConfigError ? error.message : error);
    process.exitCode = FAILED;
  }
}
