import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { Config } from '../../config.js';
import { traceIdOf, traceparentOf } from '../trace-parent.js';

/** Lines wait this long for others to be written with. Milliseconds. */
const FLUSH_EVERY_MS = 100;
/** In UTF-16 units; every line is ASCII, so in bytes too. */
const MAX_WAITING = 64 * 1024;

/** Where the lines go. */
export abstract class AccessLogOutput {
  /** @returns false where it did not take the text, because what it was given before has not been read yet */
  abstract write(text: string): boolean;
}

const orNull = (value: string | undefined): string => (value === undefined ? 'null' : `"${value}"`);

/**
 * One line of JSON a request, written when it has ended. Nothing of it needs escaping: the route is the pattern, never
 * the path that was asked; method, request id, key id, organization and trace id are checked where they are read.
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
      name: 'access_log_lost_lines_total',
      help: 'Lines of the access log that were dropped because nobody read standard output',
      registers: [registry],
    });
  }

  /** @param route the pattern of the route; `none` where the request had none */
  add(route: string, status: number, ms: number, reply: FastifyReply): void {
    if (!this.isOn) return;
    const { request } = reply;
    const { caller } = request;
    const traceparent = traceparentOf(request.headers['traceparent']);
    const length = reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0;
    this.append(
      `"requestId":"${request.id}","method":"${request.method}","route":"${route}","status":${status},` +
        `"ms":${Math.round(ms * 10) / 10},"bytes":${length},` +
        `"keyId":${orNull(caller?.keyId)},"organization":${orNull(caller?.organization)},` +
        `"traceId":${orNull(traceparent && traceIdOf(traceparent))}`,
    );
  }

  /** A request that never became one: Node could not read it, and we answered in its place. */
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
    this.waiting += `{"context":"access","time":"${this.timestamp()}",${fields}}\n`;
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
