import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { EXIT_CONFIG } from '../config.js';
import { SIGNALS } from './interruption.js';
import { FAILED } from './output.js';

const PROJECTOR = fileURLToPath(new URL('../../projections/main.js', import.meta.url));

/** Hands a call to the projector's program, which prints its result and says how it ended. */
const hand = async (words: readonly string[]): Promise<void> => {
  const child = spawn(process.execPath, [PROJECTOR, ...words], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // Out of reach of the terminal, so that a signal comes once, whoever sent it: the second one ends the call at once.
    detached: process.platform !== 'win32',
  });
  for (const signal of SIGNALS) process.on(signal, () => void child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code === null || code === EXIT_CONFIG ? FAILED : code;
};

interface Options {
  readonly json?: boolean;
  readonly why?: string;
}

const flagsOf = ({ json, why }: Options): string[] => [
  ...(json ? ['--json'] : []),
  ...(why === undefined ? [] : [`--why=${why}`]),
];

export const addProjections = (program: Command): void => {
  const projections = program.command('projections').description('how far they are, rebuild, verify');
  const call = (parent: Command, name: string, argument: string | undefined, description: string): Command => {
    const command = parent.command(name).description(description).option('--json', 'print one JSON value');
    if (argument !== undefined) command.argument(argument);
    return command.action(() =>
      // An argument may begin with a dash only after this mark.
      hand([parent.name(), name, ...flagsOf(command.opts<Options>()), '--', ...command.args]),
    );
  };
  call(projections, 'status', undefined, 'position, lag, age and parked events of each projection');
  call(projections, 'rebuild', '[name]', 'count anew from the log beside the live tables, then switch');
  call(projections, 'verify', '[name]', 'recount from the log and print the differences; fails where there is one');

  const parked = program.command('parked').description('events that a projection could not apply');
  call(parked, 'list', undefined, 'each with its reason');
  call(parked, 'retry', '[id]', 'apply one, or all, again');
  call(parked, 'drop', '<id>', 'never apply it, and remember why').requiredOption('--why <text>', 'the reason');
};
