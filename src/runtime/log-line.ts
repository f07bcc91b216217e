import { type Config, logFormatOf } from './config.js';
import { printableJson, say } from './terminal.js';

/** The levels of LOG_LEVEL. */
export type Level = Config['logLevel'];

/** Writes one message to the log of this process. */
export type WriteLog = (sentence: string, level?: Level) => void;

/** A log line: one JSON object that begins with the fields that all lines have. */
const logLine = (level: Level, context: string, message: string): string =>
  printableJson(JSON.stringify({ time: new Date().toISOString(), level, context, message }));

/** Logs to standard error, for a process that has no logger or has not created it yet. */
export const logToStderr =
  (context: string, format = logFormatOf()): WriteLog =>
  (sentence, level = 'info') =>
    say(format === 'json' ? logLine(level, context, sentence) : sentence);
