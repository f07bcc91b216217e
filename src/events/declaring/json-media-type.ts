import { isLongerThan } from './text.js';

/** Code points. */
export const MAX_MEDIA_TYPE_LENGTH = 255;

/** `application/json`, `application/problem+json`, with parameters or without. */
export const JSON_MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/(?:[A-Za-z0-9!#$&^_.+-]+\+)?[jJ][sS][oO][nN][\t ]*(?:;|$)/;

export const isJsonMediaType = (text: string): boolean =>
  !isLongerThan(text, MAX_MEDIA_TYPE_LENGTH) && JSON_MEDIA_TYPE.test(text);
