import { ConsoleLogger, type LoggerService } from '@nestjs/common';
import type { Config } from './config.js';

const LEVELS = ['error', 'warn', 'log', 'debug'] as const;
const NEST_LEVEL = { error: 0, warn: 1, info: 2, debug: 3 } as const;

/** What Nest tells of its own start. No operator asked for it. */
const FRAMEWORK = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

class OperatorsLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!FRAMEWORK.has(String(rest.at(-1)))) super.log(message, ...(rest as []));
  }
}

/** What every process tells its operator, in the format and from the level on that the settings name. */
export const createLogger = (config: Config): LoggerService =>
  new OperatorsLogger({
    json: config.logFormat === 'json',
    colors: config.logFormat === 'pretty',
    logLevels: LEVELS.slice(0, NEST_LEVEL[config.logLevel] + 1),
  });
