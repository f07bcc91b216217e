import type { EventLog } from '../../src/event-log/event-log.js';
import { openEventLog } from '../../src/event-log/open-event-log.js';
import { readConfig } from '../../src/runtime/config.js';
import { issueKeys, type Keys, waitUntilKeysKnown } from './keys.js';
import { embeddedServer, removeEmbedded } from './postgres-server.js';
import type { Environment } from './processes.js';
import type { RunContext } from './run-context.js';
import { Service, type ServiceOptions } from './service.js';

/** A running service, its log opened by this process, and keys that the service knows. */
export interface RunningService {
  readonly service: Service;
  readonly log: EventLog;
  readonly keys: Keys;
  readonly env: Environment;
}

/** Opens the log of a service with these settings. */
export const openLog = async (context: RunContext, env: Environment): Promise<EventLog> => {
  const log = await openEventLog(readConfig(env));
  context.onEnd(() => log.close());
  return log;
};

interface OpenOptions extends Omit<ServiceOptions, 'env'> {
  readonly organizations?: readonly string[] | undefined;
  /** The settings with which this process opens the log. Default: those of the service. */
  readonly logEnv?: Environment;
}

/** Starts the built service with these settings, and issues keys for these organizations. */
export const startService = async (
  context: RunContext,
  env: Environment,
  { organizations, logEnv = env, ...options }: OpenOptions = {},
): Promise<RunningService> => {
  const log = await openLog(context, logEnv);
  // Keys are issued before the start, so that the service knows them from its start on.
  const keys = await issueKeys(log, organizations);
  const service = await Service.start(context, { env, ...options });
  await waitUntilKeysKnown(service.url, keys);
  return { service, log, keys, env };
};

/** Starts the service as `npm start` does, with the embedded PostgreSQL. */
export const startEmbeddedService = async (context: RunContext, dataDir: string): Promise<RunningService> => {
  context.onEnd(() => removeEmbedded(dataDir));
  const env = { DATA_DIR: dataDir };
  const service = await Service.start(context, { env, supervised: true });
  const log = await openLog(context, { DATABASE_URL: (await embeddedServer(dataDir))!.url });
  const keys = await issueKeys(log);
  await waitUntilKeysKnown(service.url, keys);
  return { service, log, keys, env };
};
