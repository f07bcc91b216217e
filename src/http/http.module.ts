import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Registry } from 'prom-client';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { Config } from '../runtime/config.js';
import { MethodNotAllowed } from '../errors.js';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { ConsistencyModule, CONSISTENCY_TOKEN, Consistency } from './consistency.js';
import { checkAccess, AddressRateLimit, KeyRateLimit, Revocations } from './access/check-access.js';
import { AllowedMethods, answerPreflight, DEFAULT_HEADERS, onEveryRequest, whenEnded } from './every-request.js';
import { routeNotFound, sendError } from './errors/error-response.js';
import { HealthController, PrometheusController } from './ops/health.controller.js';
import { readJsonBodies } from './body/json-body.js';
import { guardConnections } from './connections.js';
import { ApiKeyVerifier } from './access/caller.js';
import { ForeignParameters } from './foreign-parameters.js';
import { createCompressor } from './responses/accept.js';
import { UnreadResponses } from './responses/unread-responses.js';
import { AccessLog } from './ops/access-log.js';
import { ProjectionLags } from '../ops/projection-lag.js';
import { Prometheus } from './ops/prometheus.js';
import { OpsModule } from '../ops/ops.module.js';
import { Readiness } from '../ops/readiness.js';
import { TimeSlices } from '../flow/turns.js';
import { beginSpan, endSpan, withinSpan, pathOf } from './request-span.js';
import { tracing } from '../runtime/tracing.js';

/** Headers that say of what a response consists. */
const HEADERS_OF_CONTENT = ['x-as-of', 'known-at', 'etag', 'content-encoding'];
const NEVER_LIMITED = /^\/(?:health\/|metrics$)/;

/**
 * Registers the hooks that every route shares. These hooks are hooks of Fastify, because Nest's guards run after the
 * body has been read. The order of the checks: unknown path or method, URL length, key, rate limit, scope, body.
 */
@Module({
  imports: [ConsistencyModule, EventLogModule, ReadModelsModule, OpsModule],
  controllers: [HealthController],
  providers: [AccessLog, ProjectionLags, Prometheus],
})
export class HttpModule {
  private readonly allowed = new AllowedMethods();
  private readonly foreign = new ForeignParameters();
  private readonly revocations: Revocations;

  /**
   * If `OPS_PORT` is set, metrics are served on that port only.
   * @param keys the module that exports the `ApiKeyVerifier`
   */
  static with({ opsPort }: Config, keys: Type): DynamicModule {
    return { module: HttpModule, imports: [keys], controllers: opsPort === undefined ? [PrometheusController] : [] };
  }

  constructor(
    host: HttpAdapterHost,
    private readonly keys: ApiKeyVerifier,
    readiness: Readiness,
    private readonly prometheus: Prometheus,
    registry: Registry,
    private readonly accessLog: AccessLog,
    config: Config,
    private readonly slices: TimeSlices,
    private readonly consistency: Consistency,
  ) {
    this.revocations = new Revocations(keys);
    const instance = host.httpAdapter.getInstance<FastifyInstance>();
    const countUnmatched = this.countOf('any', 'none');
    const limit = new KeyRateLimit(config.rateLimitPerMinute);
    const addressLimit = new AddressRateLimit(config.unauthenticatedPerMinute, keys);
    readJsonBodies(instance, slices);
    const compress = createCompressor();
    const unread = new UnreadResponses();
    // All actions before sending are in one hook, because each further hook slows down every request.
    instance.addHook('onSend', (request, reply, payload, done) => {
      // The body is not needed after the response is complete; the request object lives until the response has been read.
      request.bodyCharge?.release();
      request.body = undefined;
      this.revocations.sending(reply, payload);
      compress(request, reply, payload, (_, compressed = payload) => {
        try {
          done(null, unread.charge(request, reply, compressed, request.access === null && Buffer.isBuffer(payload)));
        } catch (error) {
          // Fastify sends the error instead, and keeps the headers of what was not sent. Nest destroys a stream.
          for (const name of HEADERS_OF_CONTENT) reply.removeHeader(name);
          void reply.header('cache-control', DEFAULT_HEADERS['cache-control']);
          done(error as Error);
        }
      });
    });
    instance.addHook('onRoute', (route) => this.prepare(route, limit, addressLimit));
    onEveryRequest(instance, readiness, (request, reply, ambiguity) => {
      whenEnded(request, reply, countUnmatched);
      if (ambiguity !== undefined) return sendError(ambiguity, request, reply);
      const tooMany = addressLimit.takeWithoutAccess(request, limit);
      if (tooMany !== undefined) return sendError(tooMany, request, reply);
      const allow = this.allowed.methodsOf(pathOf(request.url));
      if (allow === undefined) return sendError(routeNotFound(), request, reply);
      // A route that handles OPTIONS itself does not get here.
      if (request.method === 'OPTIONS' && allow.includes('OPTIONS')) return answerPreflight(reply);
      sendError(new MethodNotAllowed(allow), request, reply);
    });
    instance.server.on('unreadRequest', (status: number, id: string) => accessLog.addUnparsed(status, id));
    guardConnections(instance.server, config, registry, () => unread.isOverHalf);
    instance.server.on('connection', () => slices.accepted());
  }

  private prepare(route: RouteOptions, limit: KeyRateLimit, addressLimit: AddressRateLimit): void {
    const methods = Array.isArray(route.method) ? route.method : [route.method];
    const access = route.config?.access;
    // A preflight is an OPTIONS request, and is answered without a route (`answerPreflight`).
    this.allowed.add(route.url, access?.isCrossOrigin === true ? [...methods, 'OPTIONS'] : methods);
    const count = this.countOf(methods.join(), route.url);
    if (access === undefined) {
      if (/^\/v\d/.test(route.url)) throw new Error(`${methods.join()} ${route.url} has no @Access`);
      // Health checks and Prometheus are never limited, and cost almost nothing.
      const isNeverLimited = NEVER_LIMITED.test(route.url);
      route.onRequest = (request, reply, done) => {
        whenEnded(request, reply, count);
        if (isNeverLimited) return done();
        this.slices.begin('', () => {
          if (request.raw.socket.destroyed) return;
          const tooMany = addressLimit.takeWithoutAccess(request, limit);
          if (tooMany === undefined) done();
          else sendError(tooMany, request, reply);
        });
      };
      return;
    }
    const check = checkAccess(access, this.keys, limit, addressLimit, this.slices, this.revocations);
    const tracer = tracing;
    const name = `${methods.join()} ${route.url}`;
    const { parameters = [] } = route.config!;
    // A sender of events sends the handshake (OPTIONS) to the URL of its deliveries, with their parameters.
    if (route.url.startsWith('/v2/') && !methods.includes('OPTIONS')) {
      if (!methods.includes('HEAD')) this.foreign.add(name, parameters);
      route.handler = this.foreign.rejectBefore(route.handler, parameters);
    }
    if (tracer !== undefined) route.handler = withinSpan(tracer, route.handler);
    const consistent = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
      if (request.headers[CONSISTENCY_TOKEN] === undefined) return done();
      this.consistency.waitFor(request, reply, access).then(done, (error: unknown) => {
        if (!request.raw.socket.destroyed) sendError(error, request, reply);
      });
    };
    // All checks and measurements are in one hook, because each further hook slows down every request.
    route.onRequest = (request, reply, done) => {
      if (access.isCrossOrigin) void reply.header('access-control-allow-origin', '*');
      if (tracer === undefined) {
        whenEnded(request, reply, count);
        return check(request, reply, () => consistent(request, reply, done));
      }
      const since = performance.now();
      whenEnded(request, reply, (status, ms) => {
        count(status, ms, reply);
        endSpan(request, status);
      });
      check(request, reply, () => {
        beginSpan(tracer, request, name, route.url, since);
        consistent(request, reply, done);
      });
    };
  }

  private countOf(method: string, route: string): (status: number, ms: number, reply: FastifyReply) => void {
    const observe = this.prometheus.count(method, route);
    return (status, ms, reply) => {
      observe(status, ms);
      this.accessLog.add(route, status, ms, reply);
      this.revocations.remove(reply);
    };
  }
}
