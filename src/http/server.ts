import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Config, ConfigError } from '../config.js';
import { answerError } from './answer-error.js';
import { answerEverything, onClientError } from './client-error.js';
import { BODY_LIMIT } from './limits.js';
import './caller.js';

/** A request id that a caller may choose: it ends in a header and in the log, so nothing but these characters. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const requestId = (request: IncomingMessage): string => {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
};

const trustedProxies = ({ trustProxy }: Config): string[] | false => {
  for (const address of trustProxy) {
    const [, ip, prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(address) ?? [];
    const version = ip === undefined ? 0 : isIP(ip);
    if (version === 0 || Number(prefix ?? 0) > (version === 4 ? 32 : 128))
      throw new ConfigError(`TRUST_PROXY holds "${address}"; it may hold addresses and networks (10.0.0.0/8)`);
  }
  return trustProxy.length > 0 && [...trustProxy];
};

/** The HTTP server, with the time limits that Fastify leaves open. Milliseconds. */
export const createServer = (config: Config): FastifyAdapter => {
  const adapter = new FastifyAdapter({
    logger: false,
    trustProxy: trustedProxies(config),
    bodyLimit: BODY_LIMIT,
    // A longer one is an address that names nothing, not a request that cannot be routed.
    routerOptions: { maxParamLength: 16_384 },
    genReqId: requestId as never,
    requestTimeout: 10_000,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 },
    // While stopping, what still comes on an open connection is answered, and the connection then closed.
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id);
      answerError(error, request, reply);
    },
  });
  const instance = adapter.getInstance();
  instance.decorateRequest('caller', null);
  instance.decorateRequest('takesRawBody', false);
  answerEverything(instance.server);
  return adapter;
};
