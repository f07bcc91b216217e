import { Invalid } from '../errors.js';

/** Texts and numbers of a page's last row, by which the next one begins. */
export type PlaceInPage = readonly (string | number)[];

/** A cursor needs no owner: that comes from the key. */
export const cursorAfter = (place: PlaceInPage): string => Buffer.from(JSON.stringify(place)).toString('base64url');

/**
 * @param like a place of the same shape
 * @throws Invalid unless `cursorAfter` made it of such a place
 */
export const readCursor = <Place extends PlaceInPage>(cursor: string, like: Place): Place => {
  let place: unknown;
  try {
    place = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    place = undefined;
  }
  const isLike =
    Array.isArray(place) &&
    place.length === like.length &&
    place.every((each, n) => typeof each === typeof like[n] && !String(each).includes('\0')) &&
    place.every((each) => typeof each === 'string' || Number.isSafeInteger(each));
  if (!isLike || cursorAfter(place as PlaceInPage) !== cursor)
    throw new Invalid('cursor must be the nextCursor of the page before');
  return place as unknown as Place;
};
