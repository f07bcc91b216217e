import { NotFound } from '../errors.js';

/** For the reference. */
export const NO_SUCH_GROUP = 'The organization has no group of this number.';
export const GROUP_ID = {
  name: 'id',
  description: "The group's number.",
  schema: { type: 'integer', minimum: 1 },
  example: 1,
} as const;

export const groupNotFound = (): Error => new NotFound('Asset group not found');

/**
 * A group's number as it stands in an address; another text names no group.
 * @throws NotFound
 */
export const groupIdOf = (text: string): number => {
  const id = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw groupNotFound();
  return id;
};
