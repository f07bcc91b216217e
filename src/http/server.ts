import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../runtime/config.js';
import { sendError } from './errors/error-response.js';
import { handleRawNodeEvents, onClientError } from './errors/client-error.js';
import { ANSWER_HEADERS } from './every-request.js';
import { BODY_LIMIT } from './byte-limits.js';
import { requestIdOf } from './request-id.js';
import { trustedProxies } from './access/trusted-proxies.js';
import './access/caller.js';

/** The HTTP server, with the timeouts that Fastify leaves open. ms */
export const createServer = (config: Config): FastifyAdapter => {
  const adapter = new FastifyAdapter({
    logger: false,
    trustProxy: trustedProxies(config.trustProxy) ?? false,
    bodyLimit: BODY_LIMIT,
    // A longer parameter is an unknown id, not an unroutable request.
    routerOptions: { maxParamLength: 16_384 },
    genReqId: requestIdOf as never,
    requestTimeout: 10_000,
    keepAliveTimeout: 72_000,
    // A request without a Host is rejected by our hook, because Node's own rejection has no body.
    http: { headersTimeout: 5_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    // While stopping, requests on open connections are still answered, and the connection then closed.
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id).headers(ANSWER_HEADERS);
      sendError(error, request, reply);
      request.server.server.emit('unreadRequest', reply.statusCode, request.id);
    },
  });
  const instance = adapter.getInstance();
  instance.decorateRequest('caller', null);
  instance.decorateRequest('access', null);
  instance.decorateRequest('answer', null);
  instance.decorateRequest('minPosition', null);
  instance.decorateRequest('bodyCharge', null);
  instance.decorateRequest('span', null);
  handleRawNodeEvents(instance.server);
  return adapter;
};
