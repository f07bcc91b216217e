import { type LoggerService, Logger } from '@nestjs/common';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unavailable } from '../../../../src/errors.js';
import { sendError } from '../../../../src/http/errors/error-response.js';
import { createLogger } from '../../../../src/runtime/logger.js';

const ESCAPE = '\u001b';
const COLOUR = new RegExp(`${ESCAPE}\\[(?:38;5;)?\\d+m`, 'g');
const lines: string[] = [];
const write = (line: string): void => void lines.push(line);

/** A reply that records what is set on it. */
class Reply {
  sent = false;
  status = 0;
  body: unknown;
  readonly sentHeaders: Record<string, string> = {};
  removeHeader(): void {}
  headers(headers: Record<string, string>): this {
    Object.assign(this.sentHeaders, headers);
    return this;
  }
  code(status: number): this {
    this.status = status;
    return this;
  }
  send(body: unknown): this {
    this.body = body;
    return this;
  }
}

const answer = (error: unknown, url = '/v2/x'): Reply => {
  const reply = new Reply();
  const request = { method: 'GET', url, id: 'request-1', raw: { complete: true } } as unknown as FastifyRequest;
  sendError(error, request, reply as unknown as FastifyReply);
  return reply;
};

beforeEach(() => {
  lines.length = 0;
  Logger.overrideLogger({ log: write, warn: write, error: write } as unknown as LoggerService);
});
afterAll(() => Logger.overrideLogger(false));

describe('An unexpected error', () => {
  it('is described in the log only, not in the response', () => {
    for (const error of [new Error('password=hunter2'), 'a text', undefined, { code: '42601', statusCode: 500 }]) {
      const { status, body } = answer(error);
      expect([status, body]).toEqual([500, { code: 'INTERNAL_SERVER_ERROR', message: 'Internal error' }]);
    }
    expect(lines[0]).toContain('request request-1: Error: password=hunter2\n    at ');
    expect(lines).toHaveLength(4);
  });

  it('cannot forge log lines, whatever its message and the URL contain', () => {
    Logger.overrideLogger(createLogger({ logFormat: 'pretty', logLevel: 'info' }));
    const written: string[] = [];
    const stderr = jest.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    answer(new Error('one\nERROR forged\r\n\u001b[2Jred'), '/a"\n\rb?key=tp_secret');
    stderr.mockRestore();
    const text = written.join('').replaceAll(COLOUR, '');
    const [first, ...rest] = text.trimEnd().split('\n');
    expect(first).toContain('request request-1: Error: one');
    expect(rest[0]).toBe('    ERROR forged');
    expect(rest.every((line) => line.startsWith('    '))).toBe(true);
    expect(text).not.toMatch(/(?!\n)\p{Cc}|tp_secret/u);
  });
});

describe('An outage', () => {
  const unavailable = new Unavailable('The log did not answer; try again');

  it('gets 503 with Retry-After', () => {
    const { status, body, sentHeaders } = answer(unavailable);
    expect([status, sentHeaders]).toEqual([503, { 'retry-after': '1' }]);
    expect(body).toEqual({ code: 'SERVICE_UNAVAILABLE', message: 'The log did not answer; try again' });
  });

  it('is logged at most once per second, however many requests fail', () => {
    for (let i = 0; i < 1_000; i++) answer(unavailable);
    expect(lines.length).toBeLessThan(5);
  });

  it('is only an Unavailable error: any other error gets 500, even with the code of a connection failure', () => {
    for (const code of ['ENOENT', 'ECONNREFUSED', '57P01'])
      expect(answer(Object.assign(new Error('open sources.json'), { code })).status).toBe(500);
  });
});
