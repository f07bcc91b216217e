import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { FAILED, WRONG_USAGE } from './output.js';
import { ConfigError, EXIT_CONFIG, readConfig } from '../../runtime/config.js';
import { requireFileDescriptors } from '../../runtime/file-descriptors.js';
import { logToStderr } from '../../runtime/log-line.js';
import { VERSION } from '../../runtime/version.js';

/** The commands. The module of a command is imported only when the command is called. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  start: async () => {
    requireFileDescriptors();
    const { start } = await import('../start.js');
    return (program) =>
      program
        .command('start')
        .description(
          'run the API, the projector, the delivery process and, unless DATABASE_URL is set, the database, until a signal',
        )
        .action(async () => process.exit(await start(readConfig())));
  },
  keys: async () => (await import('../keys.js')).addKeyCommands,
  brands: async () => (await import('../brands/brands.js')).addBrandCommands,
  flags: async () => (await import('../brands/flags.js')).addFlagCommands,
  webhooks: async () => (await import('../webhooks.js')).addWebhookCommands,
  disputes: async () => (await import('../disputes.js')).addDisputeCommands,
  projections: async () => (await import('../projections.js')).addProjectionCommands,
  parked: async () => (await import('../parked.js')).addParkedCommands,
  events: async () => (await import('../events.js')).addEventCommands,
  sources: async () => (await import('../sources.js')).addSourceCommands,
  organizations: async () => (await import('../organizations.js')).addOrganizationCommands,
  assets: async () => (await import('../redacting/assets-redact.js')).addAssetCommands,
  retention: async () => (await import('../redacting/retention-apply.js')).addRetentionCommands,
  rejected: async () => (await import('../rejected.js')).addRejectedCommands,
  demo: async () => {
    requireFileDescriptors();
    return (await import('../demo/demo.js')).addDemoCommand;
  },
  log: async () => (await import('../log.js')).addLogCommands,
  migrate: async () => (await import('../migrate.js')).addMigrateCommand,
};

/** Rejects repeated options. Commander would silently use the last value. */
const rejectRepeated = (command: Command): void => {
  for (const option of command.options) {
    if (option.isBoolean() || option.parseArg) continue;
    let isGiven = false;
    option.argParser((value) => {
      if (isGiven) throw new InvalidArgumentError('The option may be given only once.');
      isGiven = true;
      return value;
    });
  }
  for (const each of command.commands) rejectRepeated(each);
};

/**
 * Runs one command of the operator's CLI and sets the exit code of the process.
 * @param args the arguments after the name of the program
 */
export const run = async (args: readonly string[]): Promise<void> => {
  const program = new Command('threat-protection')
    .description('The CLI for operators. Results go to standard output, messages to standard error.')
    .version(VERSION)
    // These settings precede the commands, because a command inherits the settings of the program when it is added.
    .exitOverride()
    .showHelpAfterError('(see --help)');

  const name = args[0] ?? '';
  // If the command is unknown, all commands are loaded for the help text.
  const loaded = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name]!] : new Set(Object.values(COMMANDS));
  for (const load of loaded) (await load())(program);
  rejectRepeated(program);

  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // --help also throws, with exit code 0. Any other error of commander is wrong usage.
      process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
    } else {
      const isConfig = error instanceof ConfigError;
      logToStderr(name)(isConfig ? error.message : inspect(error), 'error');
      process.exitCode = isConfig ? EXIT_CONFIG : FAILED;
    }
  }
};
