import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { FAILED, WRONG_USAGE } from './output.js';
import { ConfigError, EXIT_CONFIG, readConfig } from '../../runtime/config.js';
import { requireDescriptors } from '../../runtime/descriptors.js';
import { logToStderr } from '../../runtime/log-line.js';

/** The commands, loaded on demand: no call needs the imports of all. */
const CALLS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  start: async () => {
    requireDescriptors();
    const { start } = await import('../start.js');
    return (program) =>
      program
        .command('start')
        .description('run the API, the projector and, unless one is set, the database, until a signal')
        .action(async () => process.exit(await start(readConfig())));
  },
  keys: async () => (await import('../keys.js')).addKeys,
  brands: async () => (await import('../brands.js')).addBrands,
  flags: async () => (await import('../flags.js')).addFlags,
  webhooks: async () => (await import('../webhooks.js')).addWebhooks,
  projections: async () => (await import('../projections.js')).addProjections,
  parked: async () => (await import('../parked.js')).addParked,
  events: async () => (await import('../events.js')).addEvents,
  sources: async () => (await import('../sources.js')).addSources,
  organizations: async () => (await import('../organizations.js')).addOrganizations,
  rejected: async () => (await import('../rejected.js')).addRejected,
  demo: async () => {
    requireDescriptors();
    return (await import('../demo/demo.js')).addDemo;
  },
  log: async () => (await import('../log.js')).addLog,
  migrate: async () => (await import('../migrate.js')).addMigrate,
};

/** Commander silently uses the last value of a repeated option. */
const takeOnce = (command: Command): void => {
  for (const option of command.options) {
    if (option.isBoolean() || option.parseArg) continue;
    let isGiven = false;
    option.argParser((value) => {
      if (isGiven) throw new InvalidArgumentError('It may be given only once.');
      isGiven = true;
      return value;
    });
  }
  for (const each of command.commands) takeOnce(each);
};

/**
 * Runs one call of the operator's command and sets the process's exit code.
 * @param words the arguments after the program's name
 */
export const run = async (words: readonly string[]): Promise<void> => {
  const program = new Command('threat-protection')
    .description('The operator’s command: results on standard output, messages on standard error')
    // Before any command is added: each inherits it.
    .exitOverride()
    .showHelpAfterError('(see --help)');

  const noun = words[0] ?? '';
  const called = Object.hasOwn(CALLS, noun) ? [CALLS[noun]!] : new Set(Object.values(CALLS));
  for (const load of called) (await load())(program);
  takeOnce(program);

  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Asking for help is not a mistake; any other commander error is.
      process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
    } else {
      const isConfig = error instanceof ConfigError;
      logToStderr(noun)(isConfig ? error.message : inspect(error), 'error');
      process.exitCode = isConfig ? EXIT_CONFIG : FAILED;
    }
  }
};
