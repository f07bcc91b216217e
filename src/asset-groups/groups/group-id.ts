import { NotFound } from '../../errors.js';

export const NO_SUCH_GROUP = 'The organization has no group with this id.';
export const GROUP_ID = {
  name: 'id',
  description: "The group's id.",
  schema: { type: 'integer', minimum: 1, example: 1 },
} as const;

export const groupNotFound = (): Error => new NotFound('Asset group not found');

/**
 * Parses a group id from the URL.
 * @throws NotFound if the text is not a group id
 */
export const groupIdOf = (text: string): number => {
  const id = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw groupNotFound();
  return id;
};
