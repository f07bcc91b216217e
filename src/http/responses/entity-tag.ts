import { createHash } from 'node:crypto';

/** Returns a weak entity tag, which the compressed and the uncompressed form of the content share. */
export const entityTag = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

const TAG = /(?:W\/)?("[^"]*")/g;
const opaque = (tag: string): string => tag.replace(/^W\//, '');

/** Whether `If-None-Match` names the tag. Tags are compared weakly, and `*` matches every tag (RFC 9110, 13.1.2). */
export const matchesEntityTag = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(TAG)].some(([, known]) => known === opaque(tag)));
