import type { Command } from 'commander';
import { prints } from './runtime/output.js';
import { withDatabase } from './runtime/session.js';

export const addMigrateCommand = (program: Command): void => {
  prints(
    program.command('migrate').description('migrate the tables to this version; safe to run concurrently'),
    // `withDatabase` migrates the tables when it opens the database.
    () =>
      withDatabase(() => Promise.resolve({ lines: ['The tables are at this version'], json: { migrated: true } }), {
        migrates: true,
      }),
  );
};
