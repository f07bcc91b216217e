import { createHash } from 'node:crypto';

/** A weak tag of a content: it stands for all its forms, packed or not. */
export const entityTag = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

const TAG = /(?:W\/)?("[^"]*")/g;
const opaque = (tag: string): string => tag.replace(/^W\//, '');

/** Whether a client has it already: tags are compared weakly, `*` stands for any (RFC 9110, 13.1.2). */
export const isKnown = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(TAG)].some(([, known]) => known === opaque(tag)));
