import type { Command } from 'commander';
import { addBrand, type NamedBrand, removeBrand } from './change-brand.js';
import { createReadModels } from '../../read-models/kysely.js';
import { prints, type Result, table } from '../runtime/output.js';
import { withDatabase, withLog } from '../runtime/session.js';

const add = ({ organization, brand, name }: NamedBrand): Promise<Result> =>
  withLog(async ({ log }) => {
    const changed = await addBrand(log, { organization, brand, name });
    return {
      lines: [`${organization} ${changed ? 'now has' : 'already has'} brand ${brand}`],
      json: { organization, brand, changed },
    };
  });

const remove = ({ organization, brand }: NamedBrand): Promise<Result> =>
  withLog(async ({ log }) => {
    const changed = await removeBrand(log, { organization, brand });
    return { lines: [`${organization} no longer has brand ${brand}`], json: { organization, brand, changed } };
  });

const list = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const brands = await createReadModels(pool)
      .selectFrom('brands')
      .select(['organization', 'brand', 'name'])
      .where('registered', 'is', true)
      .orderBy('organization')
      .orderBy('brand')
      .execute();
    return {
      lines: table(
        ['organization', 'brand', 'name'],
        brands.map(({ organization, brand, name }) => [organization, brand, name]),
      ),
      json: brands,
    };
  });

const ORGANIZATION = ['--organization <slug>', 'the organization that owns the brand'] as const;
const BRAND = ['--brand <slug>', 'the brand'] as const;

export const addBrandCommands = (program: Command): void => {
  const brands = program.command('brands').description('brands of organizations: add, remove, list');
  prints(
    brands
      .command('add')
      .description('register or rename a brand')
      .requiredOption(...ORGANIZATION)
      .requiredOption(...BRAND)
      .option('--name <text>', 'the display name of the brand'),
    add,
  );
  prints(
    brands
      .command('remove')
      .description('remove a brand; its events stay in the log')
      .requiredOption(...ORGANIZATION)
      .requiredOption(...BRAND),
    remove,
  );
  prints(
    brands.command('list').description('list the registered brands; changes of the last moment may be missing'),
    list,
  );
};
