import { isLongerThan } from './text.js';

/** Maximum length in code points. */
export const MAX_MEDIA_TYPE_LENGTH = 255;

/** `application/json` or a type with the suffix `+json`, with or without parameters. */
export const JSON_MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/(?:[A-Za-z0-9!#$&^_.+-]+\+)?[jJ][sS][oO][nN][\t ]*(?:;|$)/;

export const isJsonMediaType = (text: string): boolean =>
  !isLongerThan(text, MAX_MEDIA_TYPE_LENGTH) && JSON_MEDIA_TYPE.test(text);
