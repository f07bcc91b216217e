import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../runtime/config.js';
import { sendError } from './errors/error-response.js';
import { handleRawNodeEvents, onClientError } from './errors/client-error.js';
import { DEFAULT_HEADERS } from './every-request.js';
import { BODY_LIMIT } from './byte-limits.js';
import { requestIdOf } from './request-id.js';
import { trustedProxies } from './access/trusted-proxies.js';
import './access/caller.js';

/** Creates the HTTP server. Timeouts are in ms. */
export const createServer = (config: Config): FastifyAdapter => {
  const adapter = new FastifyAdapter({
    logger: false,
    trustProxy: trustedProxies(config.trustProxy) ?? false,
    bodyLimit: BODY_LIMIT,
    // A parameter longer than Fastify's default limit is an unknown id, not an unknown route.
    routerOptions: { maxParamLength: 16_384 },
    genReqId: requestIdOf as never,
    requestTimeout: 10_000,
    keepAliveTimeout: 72_000,
    // A hook rejects requests without a Host header, because Node's own rejection has no body.
    http: { headersTimeout: 5_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    // During shutdown, requests on open connections still get a response before the connection is closed.
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS);
      sendError(error, request, reply);
      request.server.server.emit('unreadRequest', reply.statusCode, request.id);
    },
  });
  const instance = adapter.getInstance();
  instance.decorateRequest('caller', null);
  instance.decorateRequest('access', null);
  instance.decorateRequest('rawResponse', null);
  instance.decorateRequest('minPosition', null);
  instance.decorateRequest('bodyCharge', null);
  instance.decorateRequest('span', null);
  instance.decorateReply('bagIndex', -1);
  handleRawNodeEvents(instance.server);
  return adapter;
};
