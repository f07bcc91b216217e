import { inspect } from 'node:util';
import { ConsoleLogger, type LoggerService, type LogLevel } from '@nestjs/common';
import type { Config } from './config.js';
import { printableJson, printableLines } from './terminal.js';
import type { WriteLog } from './log-line.js';

const LEVELS = ['error', 'warn', 'log', 'debug'] as const;
const NEST_LEVEL = { error: 0, warn: 1, info: 2, debug: 3 } as const;

/**
 * The contexts in which Nest logs its own start, which operators do not need. They are the names of classes, which a
 * bundle may change, such as `_InstanceLoader`. The contexts of this service are in lower case.
 */
const FRAMEWORK = /^_*[A-Z]/;

/** The level `log` of Nest is the level `info` of LOG_LEVEL. */
const levelName = (level: LogLevel): string => (level === 'log' ? 'info' : level);

/** Escapes control characters and line breaks, because error messages may contain text from outside. */
class EscapingLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!FRAMEWORK.test(String(rest.at(-1)))) super.log(message, ...(rest as []));
  }

  protected override formatMessage(...given: Parameters<ConsoleLogger['formatMessage']>): string {
    const [level, message, pid, , ...rest] = given;
    const text = printableLines(typeof message === 'string' ? message : inspect(message));
    return super.formatMessage(level, text, pid, levelName(level).toUpperCase().padStart(7), ...rest);
  }

  protected override printStackTrace(stack: string): void {
    super.printStackTrace(stack && printableLines(stack));
  }

  protected override getJsonLogObject(
    ...given: Parameters<ConsoleLogger['getJsonLogObject']>
  ): ReturnType<ConsoleLogger['getJsonLogObject']> {
    const { level, timestamp, context, ...rest } = super.getJsonLogObject(...given);
    return {
      time: new Date(timestamp).toISOString(),
      level: levelName(level),
      context,
      ...rest,
    } as unknown as ReturnType<ConsoleLogger['getJsonLogObject']>;
  }

  protected override stringifyJsonLogObject(
    ...given: Parameters<ConsoleLogger['stringifyJsonLogObject']>
  ): ReturnType<ConsoleLogger['stringifyJsonLogObject']> {
    return printableJson(super.stringifyJsonLogObject(...given));
  }
}

/** Creates the logger of a process, with the format and the lowest level that the settings name. */
export const createLogger = (config: Pick<Config, 'logFormat' | 'logLevel'>): LoggerService =>
  new EscapingLogger({
    json: config.logFormat === 'json',
    colors: config.logFormat === 'pretty',
    logLevels: LEVELS.slice(0, NEST_LEVEL[config.logLevel] + 1),
  });

/** Logs through Nest's logger. */
export const logThrough =
  (logger: LoggerService, context: string): WriteLog =>
  (sentence, level = 'info') =>
    level === 'info' ? logger.log(sentence, context) : logger[level]?.(sentence, context);
