import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, logThrough } from '../../src/runtime/logger.js';

const HOSTILE = 'one\nERROR forged\r\n\u001b[2Jred\u009b2J\u202Eexe.txt\u2028\ufeff';
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const ESCAPE = '\u001b';
const COLOUR = new RegExp(`${ESCAPE}\\[(?:38;5;)?\\d+m`, 'g');

let written: string;

beforeEach(() => {
  written = '';
  const keep = (text: string | Uint8Array): boolean => {
    written += String(text);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(keep);
  jest.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => void jest.restoreAllMocks());

/** The output without the colours that the logger adds. */
const withoutColours = (): string => written.replaceAll(COLOUR, '');

describe('The logger', () => {
  it('writes a message with control characters as one JSON line that preserves the message', () => {
    const logger = createLogger({ logFormat: 'json', logLevel: 'info' });
    logger.warn(HOSTILE, 'http');
    logger.error(HOSTILE, `Error: ${HOSTILE}\n    at here`, 'http');
    expect(written).not.toMatch(UNSAFE);
    const lines = written.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: 'warn', message: HOSTILE, context: 'http' }),
      expect.objectContaining({ level: 'error', message: HOSTILE, context: 'http' }),
    ]);
  });

  it('keeps the level of each message, also through `logThrough`', () => {
    const writeLog = logThrough(createLogger({ logFormat: 'json', logLevel: 'debug' }), 'main');
    const levels = ['error', 'warn', 'info', 'debug'] as const;
    for (const level of levels) writeLog('a', level);
    writeLog('a');
    const lines = written.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([...levels, 'info']);
  });

  it('begins a JSON line with time, level and context, as the access log does', () => {
    createLogger({ logFormat: 'json', logLevel: 'info' }).log('a', 'b');
    expect(written).toMatch(/^\{"time":"\d{4}-\d\d-\d\dT[\d:.]+Z","level":"info","context":"b",/);
  });

  it('escapes control characters and indents further lines on a terminal, so that no message can forge a log line', () => {
    const logger = createLogger({ logFormat: 'pretty', logLevel: 'info' });
    logger.warn(HOSTILE, 'http');
    logger.error(HOSTILE, `Error: ${HOSTILE}\n    at here`, 'http');
    logger.error(new Error(HOSTILE), undefined, 'http');
    expect(withoutColours()).not.toMatch(UNSAFE);
    expect(withoutColours()).toContain('\\u{1B}[2Jred\\u{9B}2J\\u{202E}exe.txt\\u{2028}\\u{FEFF}');
    for (const line of withoutColours().trimEnd().split('\n')) expect(line).toMatch(/^(?:\[Nest\] | {4}|Error: one)/);
  });

  it('omits what Nest logs about its own start, even if a bundle has changed the names of its classes', () => {
    const logger = createLogger({ logFormat: 'json', logLevel: 'debug' });
    for (const context of ['NestFactory', '_InstanceLoader', 'RouterExplorer2']) logger.log('a', context);
    expect(written).toBe('');
    logger.warn('a', '_NestFactory');
    expect(written).toContain('"level":"warn"');
  });

  it('names levels as LOG_LEVEL does', () => {
    for (const logFormat of ['json', 'pretty'] as const) {
      const logger = createLogger({ logFormat, logLevel: 'debug' });
      logger.log('a', 'b');
      logger.debug!('a', 'b');
      logger.warn('a', 'b');
      logger.error('a', undefined, 'b');
    }
    expect([...written.matchAll(/"level":"(\w+)"/g)].map(([, level]) => level)).toEqual([
      'info',
      'debug',
      'warn',
      'error',
    ]);
    expect([...withoutColours().matchAll(/ (INFO|DEBUG|WARN|ERROR|LOG) /g)].map(([, level]) => level)).toEqual([
      'INFO',
      'DEBUG',
      'WARN',
      'ERROR',
    ]);
  });
});
