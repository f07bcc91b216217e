import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { Config } from '../../runtime/config.js';
import { traceIdOf } from '../../runtime/tracing.js';
import { currentTraceparent } from '../request-span.js';

/** How long lines are collected before they are written together, in ms. */
const FLUSH_INTERVAL_MS = 100;
/** The size of the buffer in UTF-16 units. Lines are ASCII, so the size in bytes is the same. */
const MAX_BUFFERED = 64 * 1024;

/** The destination of the lines. */
export abstract class AccessLogOutput {
  /** @returns false if the text was dropped because earlier text has not been read yet */
  abstract write(text: string): boolean;
}

const orNull = (value: string | undefined): string => (value === undefined ? 'null' : `"${value}"`);

/**
 * Writes one line of JSON per request when the request ends. No value needs escaping: the route is the pattern instead of
 * the requested path, and method, request id, key id, organization and trace id are validated when they are read.
 */
@Injectable()
export class AccessLog implements OnApplicationShutdown {
  readonly isOn: boolean;
  private buffer = '';
  private lines = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Cached per millisecond, because formatting the time takes half of the time of a line. */
  private now = { ms: 0, text: '' };
  private readonly dropped: Counter;

  constructor(
    config: Config,
    private readonly output: AccessLogOutput,
    registry: Registry,
  ) {
    this.isOn = config.accessLog;
    this.dropped = new Counter({
      name: 'threat_protection_access_log_dropped_lines_total',
      help: 'Lines of the access log that were dropped because standard output was not read fast enough',
      registers: [registry],
    });
  }

  /** @param route the pattern of the route; `none` for an unknown route */
  add(route: string, status: number, ms: number, reply: FastifyReply): void {
    if (!this.isOn) return;
    const { request } = reply;
    const { caller } = request;
    const traceparent = currentTraceparent(request);
    const length = reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0;
    this.append(
      `"requestId":"${request.id}","method":"${request.method}","route":"${route}","status":${status},` +
        `"ms":${Math.round(ms * 10) / 10},"bytes":${length},` +
        `"keyId":${orNull(caller?.keyId)},"organization":${orNull(caller?.organization)},` +
        `"traceId":${orNull(traceparent && traceIdOf(traceparent))}`,
    );
  }

  /** Logs the error response to input that Node could not parse as a request. */
  addUnparsed(status: number, requestId: string): void {
    if (!this.isOn) return;
    this.append(
      `"requestId":"${requestId}","method":null,"route":"none","status":${status},` +
        `"ms":null,"bytes":null,"keyId":null,"organization":null,"traceId":null`,
    );
  }

  /** Called after the last response has been sent. */
  onApplicationShutdown(): void {
    this.flush();
  }

  private timestamp(): string {
    const ms = Date.now();
    if (ms !== this.now.ms) this.now = { ms, text: new Date(ms).toISOString() };
    return this.now.text;
  }

  private append(fields: string): void {
    this.buffer += `{"time":"${this.timestamp()}","level":"info","context":"access",${fields}}\n`;
    this.lines += 1;
    if (this.buffer.length >= MAX_BUFFERED) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines > 0 && !this.output.write(this.buffer)) this.dropped.inc(this.lines);
    this.buffer = '';
    this.lines = 0;
  }
}
