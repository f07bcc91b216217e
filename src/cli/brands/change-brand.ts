import { NotFound } from '../../errors.js';
import type { EventLog } from '../../event-log/event-log.js';
import { requireValid } from '../../event-log/require-valid.js';
import type { BrandRegistered, BrandRemoved } from '../../events/types/brands.js';
import { appendOperatorChange } from './append-operator-change.js';

/** A brand. The slugs `organization` and `brand` identify the brand; `name` is the display name. */
export interface NamedBrand {
  readonly organization: string;
  readonly brand: string;
  readonly name?: string | undefined;
}

type BrandChanged = BrandRegistered | BrandRemoved;

const brandEvent = (
  type: BrandChanged['type'],
  { organization, brand, name }: NamedBrand,
  updatedAt: number,
): BrandChanged => requireValid({ type, data: { organization, brand, name, updatedAt } });

/**
 * Registers or renames an organization's brand.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event
 */
export const addBrand = (log: EventLog, brand: NamedBrand): Promise<boolean> =>
  appendOperatorChange<BrandChanged>(log, brandEvent('BrandRegistered', brand, 0), (newest, now) => {
    const registered = newest?.type === 'BrandRegistered' ? newest : undefined;
    const name = brand.name ?? registered?.data.name;
    if (registered && registered.data.name === name) return undefined;
    return brandEvent('BrandRegistered', { ...brand, name }, now);
  });

/**
 * Removes a brand of an organization.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event; NotFound if the organization has no such brand
 */
export const removeBrand = (log: EventLog, { organization, brand }: NamedBrand): Promise<boolean> =>
  appendOperatorChange<BrandChanged>(log, brandEvent('BrandRemoved', { organization, brand }, 0), (newest, now) => {
    if (newest?.type !== 'BrandRegistered') throw new NotFound(`${organization} has no brand ${brand}`);
    return brandEvent('BrandRemoved', { organization, brand, name: newest.data.name }, now);
  });
