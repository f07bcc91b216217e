import { errors } from 'undici';
import { printable } from '../../../runtime/terminal.js';
import { truncate } from '../../../runtime/truncate.js';
import { AddressDenied } from '../../../egress/destinations.js';

/** The maximum length of the part of a response body that the organization sees, in UTF-16 units. */
const MAX_SHOWN_CHARACTERS = 1_024;

/** The outcome of a request: a response, or an error. */
export interface EndpointResponse {
  /** Absent if no response arrived in time. */
  readonly status?: number;
  /** The beginning of the response body. */
  readonly text?: string;
  /** The `Retry-After` header. */
  readonly retryAfter?: string;
  /** Why the request failed, for the organization. Absent if the request succeeded. */
  readonly error?: string;
}

/** Connection errors, in words that reveal nothing about the host's network. */
const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was established within 5 s',
  ETIMEDOUT: 'no connection was established within 5 s',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the host is unreachable',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are too large',
};

const codeOf = (error: unknown): string | undefined => {
  const { code, errors: several } = error as { code?: unknown; errors?: readonly unknown[] };
  // If several addresses were tried, the first error is representative.
  return typeof code === 'string' && code !== '' ? code : several?.map(codeOf)[0];
};

/** The outcome of a request that failed with `error`. */
export const failureOf = (error: unknown): EndpointResponse => {
  if (error instanceof AddressDenied) return { error: error.message };
  const code = codeOf(error);
  if (error instanceof errors.HTTPParserError) return { error: 'the response is not HTTP' };
  if (code?.startsWith('ERR_SSL_') || code === 'EPROTO') return { error: 'the server does not support TLS' };
  return { error: FAILURES[code ?? ''] ?? 'the connection failed' };
};

/** The outcome of a request that got a response. @param bytes the beginning of the body */
export const responseOf = (status: number, bytes: Buffer, retryAfter: string | undefined): EndpointResponse => {
  const text = truncate(printable(bytes.subarray(0, MAX_SHOWN_CHARACTERS).toString()), MAX_SHOWN_CHARACTERS);
  const isSuccess = status >= 200 && status < 300;
  return {
    status,
    text,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(!isSuccess && {
      error: status < 400 ? `responded with ${status}; redirects are not followed` : `responded with ${status}`,
    }),
  };
};
