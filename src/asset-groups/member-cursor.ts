import { Invalid } from '../errors.js';

/** After which asset a page begins, and of which group it is. It names nobody: the organization is that of the key. */
export const cursorAfter = (groupId: number, hash: string): string =>
  Buffer.from(`${groupId}:${hash}`).toString('base64url');

const CURSOR = /^([1-9]\d{0,15}):([0-9a-f]{32})$/;

/**
 * @returns the hash that the page begins after
 * @throws Invalid where it is none that `cursorAfter` has made for this group
 */
export const readCursor = (cursor: string, groupId: number): string => {
  const [, group, hash] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (group === undefined || hash === undefined || cursorAfter(groupId, hash) !== cursor)
    throw new Invalid('cursor must be the nextCursor of an earlier page of this group');
  return hash;
};
