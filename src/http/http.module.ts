import { type DynamicModule, Global, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Registry } from 'prom-client';
import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify';
import { Config } from '../config.js';
import { NotFound } from '../errors.js';
import { checkAccess } from './access/check-access.js';
import { AllowedMethods } from './allowed-methods.js';
import { sendError, MethodNotAllowed, ROUTE_NOT_FOUND } from './errors/error-response.js';
import { HealthController } from './ops/health.controller.js';
import { readJsonBodies } from './body/json-body.js';
import { onEveryRequest } from './every-request.js';
import { guardConnections } from './connections/guard-connections.js';
import { ApiKeyVerifier } from './access/api-key-verifier.js';
import { createPacker } from './body/packed-answer.js';
import { AccessLog } from './ops/access-log.js';
import { ProjectionLags } from './ops/projection-lag.js';
import { PrometheusController } from './ops/prometheus.controller.js';
import { Prometheus } from './ops/prometheus.js';
import { RateLimit } from './access/rate-limit.js';
import { Readiness } from './ops/readiness.js';
import { Unauthenticated } from './access/unauthenticated.js';
import { TimeSlices } from '../cooperative/time-slices.js';
import { CLIENT_LEFT, whenUnanswered } from './errors/unanswered.js';

const ALWAYS_ANSWERED = /^\/(?:health\/|metrics$)/;

const pathOf = (url: string): string => /^[^?#]*/.exec(url)![0];

/**
 * What every route shares. It is hung into Fastify, not into Nest's guards, because those run after the body has been
 * read; the order is: unknown path or method, address too long, key, rate, scope, then the body.
 */
@Global()
@Module({
  controllers: [HealthController],
  providers: [
    AccessLog,
    Readiness,
    ProjectionLags,
    Prometheus,
    TimeSlices,
    { provide: Registry, useFactory: () => new Registry() },
  ],
  exports: [Readiness, Registry, TimeSlices],
})
export class HttpModule {
  private readonly allowed = new AllowedMethods();

  /** Where operators have a listener of their own, Prometheus is answered there alone. */
  static with({ opsPort }: Config): DynamicModule {
    return { module: HttpModule, controllers: opsPort === undefined ? [PrometheusController] : [] };
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
  ) {
    const instance = host.httpAdapter.getInstance<FastifyInstance>();
    const countUnmatched = prometheus.count('any', 'none');
    const limit = new RateLimit(config.rateLimitPerMinute);
    const unauthenticated = new Unauthenticated(config.unauthenticatedPerMinute, keys);
    readJsonBodies(instance, slices);
    const pack = createPacker();
    // One hook for both: each costs every request.
    instance.addHook('onSend', (request, reply, payload, done) => {
      // The work on a body ends with the answer to it, whether or not anybody is left to read that.
      request.share?.release();
      pack(request, reply, payload, done);
    });
    instance.addHook('onRoute', (route) => this.prepare(route, limit, unauthenticated));
    onEveryRequest(instance, readiness, (request, reply) => {
      const allow = this.allowed.of(pathOf(request.url));
      const error = allow === undefined ? new NotFound(ROUTE_NOT_FOUND) : new MethodNotAllowed(allow);
      sendError(unauthenticated.takeUnlessKeyed(request) ?? error, request, reply);
      countUnmatched(reply.statusCode, reply);
      if (accessLog.isOn)
        reply.raw.on('close', () => {
          accessLog.add('none', reply.raw.writableFinished ? reply.statusCode : CLIENT_LEFT, reply);
        });
    });
    instance.server.on('unreadRequest', (status: number, id: string) => accessLog.addUnread(status, id));
    guardConnections(instance.server, config, registry);
    instance.server.on('connection', () => slices.accepted());
  }

  private prepare(route: RouteOptions, limit: RateLimit, unauthenticated: Unauthenticated): void {
    const methods = Array.isArray(route.method) ? route.method : [route.method];
    this.allowed.add(route.url, methods);
    const countPrometheus = this.prometheus.count(methods.join(), route.url);
    const count = (status: number, reply: FastifyReply): void => {
      countPrometheus(status, reply);
      this.accessLog.add(route.url, status, reply);
    };
    route.onResponse = (_request, reply, done) => {
      count(reply.statusCode, reply);
      done();
    };
    const access = route.config?.access;
    if (access === undefined) {
      if (route.url.startsWith('/v2'))
        throw new Error(`${methods.join()} ${route.url} says nothing of who may call it`);
      // Probes and Prometheus must always be answered, and cost next to nothing.
      if (!ALWAYS_ANSWERED.test(route.url))
        route.onRequest = (request, reply, done) => {
          whenUnanswered(request, reply, count);
          this.slices.begin('', () => {
            if (request.raw.socket.destroyed) return;
            const tooMany = unauthenticated.takeUnlessKeyed(request);
            if (tooMany === undefined) done();
            else sendError(tooMany, request, reply);
          });
        };
      return;
    }
    const check = checkAccess(access, this.keys, limit, unauthenticated, this.slices);
    // One hook, not two: each costs every request.
    route.onRequest = (request, reply, done) => {
      whenUnanswered(request, reply, count);
      check(request, reply, done);
    };
  }
}
