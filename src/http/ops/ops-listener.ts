import type { INestApplicationContext } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { Config } from '../../runtime/config.js';
import { NotFound } from '../../errors.js';
import { sendError, ROUTE_NOT_FOUND } from '../errors/error-response.js';
import { onEveryRequest } from '../every-request.js';
import { answerReport } from './health.controller.js';
import { Prometheus } from './prometheus.js';
import { Readiness } from '../../ops/readiness.js';
import { createServer } from '../server.js';
import { cutSlowReaders } from '../connections/slow-readers.js';

/** Serves operators and their Prometheus on a separate port: `/health/*` with all details, and `/metrics`. */
export const createOpsListener = (app: INestApplicationContext): FastifyInstance => {
  const readiness = app.get(Readiness);
  const prometheus = app.get(Prometheus);
  const instance = createServer(app.get(Config)).getInstance();
  cutSlowReaders(instance.server, () => undefined);
  onEveryRequest(instance, readiness, (request, reply, ambiguity) =>
    sendError(ambiguity ?? new NotFound(ROUTE_NOT_FOUND), request, reply),
  );
  instance.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  instance.get('/health/live', () => ({ status: 'live' }));
  instance.get('/health/ready', async (_request, reply) => answerReport(await readiness.report(), reply));
  instance.get('/metrics', async (_request, reply) =>
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(await prometheus.scrape()),
  );
  // A client that keeps a connection open must not delay the end of the process.
  instance.addHook('preClose', (done) => {
    instance.server.closeAllConnections();
    done();
  });
  return instance;
};
