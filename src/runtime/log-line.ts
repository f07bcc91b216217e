import { type Config, logFormatOf } from './config.js';
import { printableJson, say } from './terminal.js';

/** As LOG_LEVEL names them. */
export type Level = Config['logLevel'];

/** Tells the operator a sentence. */
export type WriteLog = (sentence: string, level?: Level) => void;

/** A line of the log: one JSON object that begins with the fields that every line has. */
const logLine = (level: Level, context: string, message: string): string =>
  printableJson(JSON.stringify({ time: new Date().toISOString(), level, context, message }));

/** What tells the operator of a process without a logger, or before there is one, on standard error. */
export const logToStderr =
  (context: string, format = logFormatOf()): WriteLog =>
  (sentence, level = 'info') =>
    say(format === 'json' ? logLine(level, context, sentence) : sentence);
