import type { IncomingHttpHeaders } from 'node:http';
import { UnsupportedMediaTypeException } from '@nestjs/common';

/** Why a body that says it is packed is not taken: read as it came it would only look broken. Undefined where it is not. */
export const refusalOfPacked = (headers: IncomingHttpHeaders): Error | undefined =>
  (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity'
    ? undefined
    : new UnsupportedMediaTypeException('Send the body without Content-Encoding');
