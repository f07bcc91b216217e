import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { FAILED, WRONG_USAGE } from './output.js';
import { ConfigError, EXIT_CONFIG, overrideSettings, readConfig } from '../runtime/config.js';
import { requireFileDescriptors } from '../runtime/lifecycle.js';
import { say } from '../runtime/terminal.js';
import { logToStderr } from '../runtime/log-line.js';
import { VERSION } from '../runtime/version.js';
import { readSettings, requireKnownNames } from './settings-file.js';

/** The commands. The module of a command is imported only when the command is called. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  start: async () => {
    requireFileDescriptors();
    const { start } = await import('./start.js');
    return (program) =>
      program
        .command('start')
        .description(
          'run the API, the projector, the delivery process and, unless DATABASE_URL is set, the database, until a signal',
        )
        .action(async () => process.exit(await start(readConfig())));
  },
  keys: async () => (await import('./keys.js')).addKeyCommands,
  brands: async () => (await import('./brands-and-flags.js')).addBrandCommands,
  flags: async () => (await import('./brands-and-flags.js')).addFlagCommands,
  webhooks: async () => (await import('./webhooks.js')).addWebhookCommands,
  disputes: async () => (await import('./list-disputes.js')).addDisputeCommands,
  projections: async () => (await import('./projections.js')).addProjectionCommands,
  parked: async () => (await import('./parked.js')).addParkedCommands,
  events: async () => (await import('./events.js')).addEventCommands,
  lists: async () => (await import('./lists.js')).addListCommands,
  sources: async () => (await import('./sources.js')).addSourceCommands,
  organizations: async () => (await import('./organizations.js')).addOrganizationCommands,
  assets: async () => (await import('./redacting/redact-asset.js')).addAssetCommands,
  retention: async () => (await import('./redacting/retention.js')).addRetentionCommands,
  rejected: async () => (await import('./parked.js')).addRejectedCommands,
  demo: async () => {
    requireFileDescriptors();
    return (await import('./demo/demo.js')).addDemoCommand;
  },
  log: async () => (await import('./log.js')).addLogCommands,
  migrate: async () => (await import('./projections.js')).addMigrateCommand,
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
 * Adds `--settings` to the program and to every call, so that the option may precede or follow the call. The settings
 * of the file become environment variables of this process before the call begins.
 */
const addSettingsOption = (program: Command): void => {
  const add = (command: Command): void => {
    command.option(
      '--settings <file>',
      'read the settings of the service from this environment file, or from a folder with one file per setting; they ' +
        'take precedence over environment variables; may be repeated',
      (file: string, files?: readonly string[]) => [...(files ?? []), file],
    );
    for (const each of command.commands) add(each);
  };
  add(program);
  program.hook('preAction', async (_, call) => {
    const files: string[] = [];
    for (let command: Command | null = call; command !== null; command = command.parent)
      files.unshift(...(command.opts<{ settings?: readonly string[] }>().settings ?? []));
    const read = files.map((file) => ({ file, settings: readSettings(file) }));
    for (const { settings } of read) overrideSettings(settings);
    for (const { file, settings } of read) await requireKnownNames(Object.keys(settings), file);
  });
};

/** Returns the command: the first argument, apart from `--settings FILE` before it. */
const commandOf = (args: readonly string[]): string =>
  args.find((arg, index) => !/^--settings(=|$)/.test(arg) && args[index - 1] !== '--settings') ?? '';

/**
 * Runs one command of the operator's CLI and sets the exit code of the process.
 * @param args the arguments after the name of the program
 */
export const run = async (args: readonly string[]): Promise<void> => {
  const program = new Command('node dist/src/cli.js')
    .description('The CLI for operators. Results go to standard output, messages to standard error.')
    .version(VERSION)
    // These settings precede the commands, because a command inherits the settings of the program when it is added.
    .exitOverride()
    .showHelpAfterError('(see --help)');

  const name = commandOf(args);
  // If the command is unknown, all commands are loaded for the help text.
  const loaded = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name]!] : new Set(Object.values(COMMANDS));
  for (const load of loaded) (await load())(program);
  rejectRepeated(program);
  addSettingsOption(program);

  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // --help also throws, with exit code 0. Any other error of commander is wrong usage.
      process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
    } else {
      const isConfig = error instanceof ConfigError;
      // Only the output of `start` is a log.
      const tell = name === 'start' ? logToStderr(name) : say;
      tell(isConfig ? error.message : inspect(error), 'error');
      process.exitCode = isConfig ? EXIT_CONFIG : FAILED;
    }
  }
};
