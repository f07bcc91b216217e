import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { Config } from '../../runtime/config.js';
import { traceIdOf } from '../../tracing/traceparent.js';
import { placeOf } from '../request-span.js';

/** How long lines wait to be written together. ms */
const FLUSH_EVERY_MS = 100;
/** In UTF-16 units; lines are ASCII, so in bytes too. */
const MAX_WAITING = 64 * 1024;

/** The destination of the lines. */
export abstract class AccessLogOutput {
  /** @returns false if it did not take the text because earlier text has not been read yet */
  abstract write(text: string): boolean;
}

const orNull = (value: string | undefined): string => (value === undefined ? 'null' : `"${value}"`);

/**
 * One line of JSON per request, written when it has ended. Nothing needs escaping: the route is the pattern, never the
 * requested path; method, request id, key id, organization and trace id are validated where they are read.
 */
@Injectable()
export class AccessLog implements OnApplicationShutdown {
  readonly isOn: boolean;
  private waiting = '';
  private lines = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Formatted once a millisecond: it would cost half of a line. */
  private now = { ms: 0, text: '' };
  private readonly lost: Counter;

  constructor(
    config: Config,
    private readonly output: AccessLogOutput,
    registry: Registry,
  ) {
    this.isOn = config.accessLog;
    this.lost = new Counter({
      name: 'threat_protection_access_log_dropped_lines_total',
      help: 'Lines of the access log that were dropped because standard output was not read',
      registers: [registry],
    });
  }

  /** @param route the route's pattern; `none` without a route */
  add(route: string, status: number, ms: number, reply: FastifyReply): void {
    if (!this.isOn) return;
    const { request } = reply;
    const { caller } = request;
    const traceparent = placeOf(request);
    const length = reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0;
    this.append(
      `"requestId":"${request.id}","method":"${request.method}","route":"${route}","status":${status},` +
        `"ms":${Math.round(ms * 10) / 10},"bytes":${length},` +
        `"keyId":${orNull(caller?.keyId)},"organization":${orNull(caller?.organization)},` +
        `"traceId":${orNull(traceparent && traceIdOf(traceparent))}`,
    );
  }

  /** Logs input that Node could not parse as a request, and that was answered anyway. */
  addUnread(status: number, requestId: string): void {
    if (!this.isOn) return;
    this.append(
      `"requestId":"${requestId}","method":null,"route":"none","status":${status},` +
        `"ms":null,"bytes":null,"keyId":null,"organization":null,"traceId":null`,
    );
  }

  /** After the last request has been answered. */
  onApplicationShutdown(): void {
    this.flush();
  }

  private timestamp(): string {
    const ms = Date.now();
    if (ms !== this.now.ms) this.now = { ms, text: new Date(ms).toISOString() };
    return this.now.text;
  }

  private append(fields: string): void {
    this.waiting += `{"time":"${this.timestamp()}","level":"info","context":"access",${fields}}\n`;
    this.lines += 1;
    if (this.waiting.length >= MAX_WAITING) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS).unref();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines > 0 && !this.output.write(this.waiting)) this.lost.inc(this.lines);
    this.waiting = '';
    this.lines = 0;
  }
}
