import type { Command } from 'commander';
import { changeFeatureFlag } from './change-feature-flag.js';
import { createReadModels } from '../../read-models/kysely.js';
import { prints, type Result, table } from '../runtime/output.js';
import { withDatabase, withLog } from '../runtime/session.js';

interface FlagOptions {
  readonly organization: string;
  readonly flag: string;
}

const change =
  (enabled: boolean) =>
  ({ organization, flag }: FlagOptions): Promise<Result> =>
    withLog(async ({ log }) => {
      const changed = await changeFeatureFlag(log, { organization, flag, enabled });
      const state = enabled ? 'enabled' : 'disabled';
      return {
        lines: [`${flag} ${changed ? 'is now' : 'was already'} ${state} for ${organization}`],
        json: { organization, flag, enabled, changed },
      };
    });

const list = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const flags = await createReadModels(pool)
      .selectFrom('feature_flags')
      .select(['organization', 'flag', 'enabled'])
      .orderBy('organization')
      .orderBy('flag')
      .execute();
    return {
      lines: table(
        ['organization', 'flag', 'enabled'],
        flags.map(({ organization, flag, enabled }) => [organization, flag, enabled]),
      ),
      json: flags,
    };
  });

export const addFlagCommands = (program: Command): void => {
  const flags = program.command('flags').description('feature flags of organizations: enable, disable, list');
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    prints(
      flags
        .command(name)
        .description(`${name} a feature for an organization`)
        .requiredOption('--organization <slug>', 'the organization')
        .requiredOption('--flag <flag>', 'the feature, such as brands-metrics'),
      change(enabled),
    );
  prints(
    flags.command('list').description('list every flag that was ever set; changes of the last moment may be missing'),
    list,
  );
};
