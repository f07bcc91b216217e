import { createHash } from 'node:crypto';

/** A weak tag of a content, shared by its compressed and uncompressed form. */
export const entityTag = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

const TAG = /(?:W\/)?("[^"]*")/g;
const opaque = (tag: string): string => tag.replace(/^W\//, '');

/** Whether the client has this content already: tags compare weakly, `*` matches any (RFC 9110, 13.1.2). */
export const isKnown = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(TAG)].some(([, known]) => known === opaque(tag)));
