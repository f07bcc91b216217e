import { type LoggerService, Logger } from '@nestjs/common';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unavailable } from '../../src/errors.js';
import { sendError } from '../../src/http/errors/error-response.js';
import { createLogger } from '../../src/logger.js';

const ESCAPE = '\u001b';
const COLOUR = new RegExp(`${ESCAPE}\\[(?:38;5;)?\\d+m`, 'g');
const lines: string[] = [];
const write = (line: string): void => void lines.push(line);

/** A reply that keeps what it is given. */
class Reply {
  sent = false;
  status = 0;
  body: unknown;
  readonly given: Record<string, string> = {};
  removeHeader(): void {}
  headers(headers: Record<string, string>): this {
    Object.assign(this.given, headers);
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

describe('An error that nobody expected', () => {
  it('is told to nobody but the log', () => {
    for (const error of [new Error('password=hunter2'), 'a text', undefined, { code: '42601', statusCode: 500 }]) {
      const { status, body } = answer(error);
      expect([status, body]).toEqual([500, { code: 'INTERNAL_SERVER_ERROR', message: 'Internal error' }]);
    }
    expect(lines[0]).toContain('request request-1: Error: password=hunter2\n    at ');
    expect(lines).toHaveLength(4);
  });

  it('adds no line to the log, whatever its text and the address hold', () => {
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

describe('A database that is away', () => {
  const away: readonly Error[] = [
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('terminating connection'), { code: '57P01' }),
    Object.assign(new Error('could not extend file'), { code: '53100' }),
    new Error('timeout exceeded when trying to connect'),
    new Error('Query read timeout'),
    new Unavailable('The log did not answer; try again'),
  ];

  it.each(away.map((error) => [error.message, error] as const))('is a 503 with Retry-After: %s', (_, error) => {
    const { status, body, given } = answer(error);
    expect([status, given]).toEqual([503, { 'retry-after': '1' }]);
    expect(body).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/^The (database|log) did not answer; try again$/),
    });
  });

  it('is one line a second in the log, however many ask', () => {
    for (let i = 0; i < 1_000; i++) answer(away[0]);
    expect(lines.length).toBeLessThan(5);
  });

  it('is told from a statement that is wrong', () => {
    expect(answer(Object.assign(new Error('syntax error'), { code: '42601' })).status).toBe(500);
  });
});
