import { inspect } from 'node:util';
import { ConsoleLogger, type LoggerService, type LogLevel } from '@nestjs/common';
import type { Config } from './config.js';
import type { WriteLog } from './log-line.js';
import { printableJson, printableLines } from './terminal.js';

const LEVELS = ['error', 'warn', 'log', 'debug'] as const;
const NEST_LEVEL = { error: 0, warn: 1, info: 2, debug: 3 } as const;

/** What Nest tells of its own start. No operator asked for it. */
const FRAMEWORK = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest calls `log` what LOG_LEVEL calls `info`. */
const nameOf = (level: LogLevel): string => (level === 'log' ? 'info' : level);

/** Whatever a line holds, it stays one: texts from outside reach it through errors. */
class OperatorsLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!FRAMEWORK.has(String(rest.at(-1)))) super.log(message, ...(rest as []));
  }

  protected override formatMessage(...given: Parameters<ConsoleLogger['formatMessage']>): string {
    const [level, message, pid, , ...rest] = given;
    const text = printableLines(typeof message === 'string' ? message : inspect(message));
    return super.formatMessage(level, text, pid, nameOf(level).toUpperCase().padStart(7), ...rest);
  }

  protected override printStackTrace(stack: string): void {
    super.printStackTrace(stack && printableLines(stack));
  }

  protected override getJsonLogObject(
    ...given: Parameters<ConsoleLogger['getJsonLogObject']>
  ): ReturnType<ConsoleLogger['getJsonLogObject']> {
    const { level, timestamp, context, ...rest } = super.getJsonLogObject(...given);
    return { time: new Date(timestamp).toISOString(), level: nameOf(level), context, ...rest } as unknown as ReturnType<
      ConsoleLogger['getJsonLogObject']
    >;
  }

  protected override stringifyJsonLogObject(
    ...given: Parameters<ConsoleLogger['stringifyJsonLogObject']>
  ): ReturnType<ConsoleLogger['stringifyJsonLogObject']> {
    return printableJson(super.stringifyJsonLogObject(...given));
  }
}

/** What every process tells its operator, in the format and from the level on that the settings name. */
export const createLogger = (config: Pick<Config, 'logFormat' | 'logLevel'>): LoggerService =>
  new OperatorsLogger({
    json: config.logFormat === 'json',
    colors: config.logFormat === 'pretty',
    logLevels: LEVELS.slice(0, NEST_LEVEL[config.logLevel] + 1),
  });

/** What tells the operator through a logger. */
export const logThrough =
  (logger: LoggerService, context: string): WriteLog =>
  (sentence, level) =>
    level === 'warn' ? logger.warn(sentence, context) : logger.log(sentence, context);
