#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addBrands } from './cli/brands.js';
import { addFlags } from './cli/flags.js';
import { addKeys } from './cli/keys.js';
import { addMigrate } from './cli/migrate.js';
import { FAILED, WRONG_USAGE } from './cli/output.js';
import { addProjections } from './cli/projections.js';
import { addReplay } from './cli/replay.js';

const program = new Command('threat-protection')
  .description('The operator’s command: results on standard output, words on standard error')
  // Before any call is added: each takes it over.
  .exitOverride()
  .showHelpAfterError('(--help says more)');

for (const add of [addKeys, addBrands, addFlags, addProjections, addReplay, addMigrate]) add(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Asking for help is no mistake; anything else that commander says is one.
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
  } else {
    console.error(error);
    process.exitCode = FAILED;
  }
}
