import type { IncomingHttpHeaders } from 'node:http';
import { UnsupportedMediaTypeException } from '@nestjs/common';

/**
 * Whether a body is compressed with `gzip`, or with its alias `x-gzip` (RFC 9110, 8.4.1.3).
 * @throws UnsupportedMediaTypeException for any other coding
 */
export const isGzip = (headers: IncomingHttpHeaders): boolean => {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  if (encoding === 'identity') return false;
  throw new UnsupportedMediaTypeException('Send the body as Content-Encoding: gzip, or without Content-Encoding');
};
