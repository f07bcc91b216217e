import { Invalid } from '../../errors.js';

/** Encodes the group and the last asset of a page. It needs no organization: that comes from the key. */
export const cursorAfter = (groupId: number, hash: string): string =>
  Buffer.from(`${groupId}:${hash}`).toString('base64url');

const CURSOR = /^([1-9]\d{0,15}):([0-9a-f]{32})$/;

/**
 * @returns the hash after which the page begins
 * @throws Invalid unless `cursorAfter` made it for this group
 */
export const readCursor = (cursor: string, groupId: number): string => {
  const [, group, hash] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (group === undefined || hash === undefined || cursorAfter(groupId, hash) !== cursor)
    throw new Invalid('cursor must be the nextCursor of an earlier page of this group');
  return hash;
};
