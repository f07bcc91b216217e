import { type Command, Option } from 'commander';
import { issueApiKey, revokeApiKey } from '../api-keys/api-keys.js';
import { readConfig, readUrl } from '../runtime/config.js';
import { type IngestionEndpoint, EventLines, requireReadable } from './sending/post-events.js';
import { processedCount, sendEvents, type Sent, SendingStopped } from './sending/send-events.js';
import { Invalid } from '../errors.js';
import { MS_PER_DAY } from '../events/instant.js';
import { say } from '../runtime/terminal.js';
import { operatorName, requireToken, readKeyFile, requireDatabase, type Session, withLog } from './session.js';
import { onFirstSignal, prints, type Result, count, Progress } from './output.js';
import { pause } from '../flow/time.js';

interface SendOptions {
  readonly url?: string;
  readonly key?: string | true;
  readonly keyFile?: string;
  readonly from: string;
  readonly dryRun?: boolean;
}

const sendFiles = async (
  files: readonly string[],
  endpoint: IngestionEndpoint,
  from: number,
  signal: AbortSignal,
): Promise<Sent> => {
  const lines = new EventLines(files, from, signal);
  const progress = new Progress('events');
  try {
    const sent = await sendEvents(lines.events(), endpoint, {
      signal,
      onProgress: (soFar, last) => progress.update(processedCount(soFar), last.fraction),
      onRetry: (reason) => progress.note(`${reason}; retrying`),
    });
    progress.end();
    return { ...sent, rejected: [...lines.rejected, ...sent.rejected] };
  } catch (error) {
    progress.end();
    if (!(error instanceof SendingStopped)) throw error;
    // Lines that were not sent may lie between acknowledged lines, so `next` may be a few lines too early, but never
    // too late.
    const processed = processedCount(error.sent);
    const rejected = [...lines.rejected, ...error.sent.rejected];
    for (const line of issueLines(rejected)) say(line);
    const lost = rejected.length === 0 ? '' : ` without the ${count(rejected.length)} rejected events above`;
    throw new Error(
      `Sending stopped, ${error.message}. ${count(processed)} events were answered. It is safe to repeat the call, ` +
        `because each event counts once; --from ${from + processed} continues after the answered events${lost}.`,
      { cause: error },
    );
  }
};

/** Issues an ingest key, calls `work` with the key, and then revokes the key. */
const withKey = (signal: AbortSignal, work: (key: string) => Promise<Sent>): Promise<Sent> => {
  const sendWithKey = async ({ log }: Session): Promise<Sent> => {
    const operator = operatorName();
    const expiresAt = Date.now() + MS_PER_DAY;
    const { id, key } = await issueApiKey(log, { scopes: ['ingest'], name: 'events send', expiresAt, operator });
    // A new key takes up to a second to work on every instance.
    await pause(1_000, signal);
    try {
      return await work(key);
    } finally {
      await revokeApiKey(log, id, operator);
    }
  };
  return withLog(sendWithKey, { handlesSignals: true });
};

const issueLines = (events: Sent['rejected']): string[] =>
  events.map(({ place, id, issues }) => `${place}${id === undefined ? '' : ` ${id}`}: ${issues.join('; ')}`);

const resultOf = ({ accepted, duplicates, rejected, warnings }: Sent): Result => ({
  lines: [
    `accepted ${accepted}`,
    `duplicates ${duplicates}`,
    `rejected ${rejected.length}`,
    ...issueLines(rejected),
    ...(warnings.length > 0 ? [`warnings ${warnings.length}`, ...issueLines(warnings)] : []),
  ],
  json: { accepted, duplicates, rejected, warnings },
  failed: rejected.length > 0,
});

/** @returns undefined if neither --key-file nor THREAT_PROTECTION_API_KEY is given */
const readKey = async (files: readonly string[], { key, keyFile }: SendOptions): Promise<string | undefined> => {
  if (key !== undefined)
    throw new Invalid(
      'A key on the command line can be read by every process on the machine: set THREAT_PROTECTION_API_KEY, or put it into a ' +
        'file and use --key-file FILE (- for standard input)',
    );
  if (keyFile === '-' && files.includes('-')) throw new Invalid('Standard input cannot be both the events and the key');
  if (keyFile !== undefined) return readKeyFile(keyFile);
  const { apiKey } = readConfig();
  return apiKey && requireToken(apiKey, 'THREAT_PROTECTION_API_KEY', 'the key');
};

const checkUrl = (url: string): void => {
  const parsed = /^https?:\/\/./.test(url) ? readUrl(url) : undefined;
  if (parsed === undefined) throw new Invalid(`--url is "${url}"; it must be an http:// or https:// URL`);
  const { username, password } = parsed;
  if (username !== '' || password !== '') throw new Invalid('--url must not contain a user or password');
};

const sendFilesTo = async (files: string[], options: SendOptions): Promise<Result> => {
  const { url, from, dryRun } = options;
  if (!/^\d{1,15}$/.test(from)) throw new Invalid(`--from is "${from}"; it must be a whole number of events`);
  if (url !== undefined) checkUrl(url);
  const key = await readKey(files, options);
  if (url !== undefined && key === undefined)
    throw new Invalid(
      'With --url, a key of that service with the scope `ingest` is required: set THREAT_PROTECTION_API_KEY or use --key-file',
    );
  const config = readConfig();
  const { host, port, databaseUrl, dataDir } = config;
  const target = url ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  await requireReadable(files);
  if (key === undefined)
    requireDatabase(config, 'With a key (THREAT_PROTECTION_API_KEY or --key-file), this call needs no database.');
  const stop = new AbortController();
  const stopListening = onFirstSignal(() => stop.abort());
  const send = (ingestKey: string, keyHint?: string): Promise<Sent> =>
    sendFiles(files, { url: target, key: ingestKey, isDryRun: dryRun, keyHint }, Number(from), stop.signal);
  const database = databaseUrl === undefined ? `the embedded database in DATA_DIR=${dataDir}` : 'DATABASE_URL';
  const keyHint = `This command issued the key in ${database}, which is not the database of that service: use the DATABASE_URL or DATA_DIR of the service`;
  try {
    say(`Sending to ${target}`);
    return resultOf(await (key === undefined ? withKey(stop.signal, (issued) => send(issued, keyHint)) : send(key)));
  } finally {
    stopListening();
  }
};

export const addEventCommands = (program: Command): void => {
  const events = program.command('events').description('send events');
  prints(
    events
      .command('send')
      .argument('<file...>', 'CloudEvents, one JSON object per line; - for standard input, .gz is decompressed')
      .description(
        'send events to the ingestion endpoint and retry until each is acknowledged; an event sent twice counts once; exits ' +
          'with 1 if an event is rejected',
      )
      .option(
        '--url <url>',
        'address of the service, such as http://127.0.0.1:3000; default: the address given by HOST and PORT',
      )
      .option(
        '--key-file <file>',
        'read the key (scope ingest) from this file, - for standard input; default: THREAT_PROTECTION_API_KEY, or a key ' +
          'issued for this call',
      )
      // The option `--key` is hidden and is rejected with a message, because scripts for earlier versions use it.
      .addOption(new Option('--key [key]').hideHelp())
      .option('--from <events>', 'skip the first N events', '0')
      .option('--dry-run', 'validate the events without storing them'),
    sendFilesTo,
  );
};
