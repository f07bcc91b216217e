import { errors } from 'undici';
import { printable } from '../../../runtime/terminal.js';
import { AddressRefused } from '../../../egress/destinations.js';

/** How much of a response its organization is shown. UTF-16 units; all of them printable. */
const MAX_SHOWN = 1_024;

/** The outcome of a request. */
export interface Answer {
  /** Absent if no response arrived in time. */
  readonly status?: number;
  /** The beginning of the response body. */
  readonly text?: string;
  /** The header. */
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
  // Of several addresses that were tried the first tells as much as all.
  return typeof code === 'string' && code !== '' ? code : several?.map(codeOf)[0];
};

/** @param error what a request ended with */
export const failureOf = (error: unknown): Answer => {
  if (error instanceof AddressRefused) return { error: error.message };
  const code = codeOf(error);
  if (error instanceof errors.HTTPParserError) return { error: 'the response is not HTTP' };
  if (code?.startsWith('ERR_SSL_') || code === 'EPROTO') return { error: 'the server does not support TLS' };
  return { error: FAILURES[code ?? ''] ?? 'the connection failed' };
};

/** @param bytes the first of the body */
export const answerOf = (status: number, bytes: Buffer, retryAfter: string | undefined): Answer => {
  const text = printable(bytes.subarray(0, MAX_SHOWN).toString()).slice(0, MAX_SHOWN);
  const isTaken = status >= 200 && status < 300;
  return {
    status,
    text,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(!isTaken && { error: status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}` }),
  };
};
