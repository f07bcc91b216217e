import type { EventLog } from '../../src/event-log/event-log.js';
import { openEventLog } from '../../src/event-log/open-event-log.js';
import { readConfig } from '../../src/runtime/config.js';
import { issueKeys, type Keys, keysKnown } from './keys.js';
import { embeddedServer, removeEmbedded } from './own-postgres.js';
import type { Environment } from './processes.js';
import type { Scene } from './scene.js';
import { Service, type ServiceOptions } from './service.js';

/** A service that runs, a look into its log from outside, and keys that it knows. */
export interface Opened {
  readonly service: Service;
  readonly log: EventLog;
  readonly keys: Keys;
  readonly env: Environment;
}

/** The log of a service with these settings. */
export const openLog = async (scene: Scene, env: Environment): Promise<EventLog> => {
  const log = await openEventLog(readConfig(env));
  scene.later(() => log.close());
  return log;
};

interface OpenOptions extends Omit<ServiceOptions, 'env'> {
  readonly organizations?: readonly string[] | undefined;
  /** Where its log is looked at, if not by the same settings. */
  readonly logEnv?: Environment;
}

/** The built service with these settings, and keys for the metrics of these organizations. */
export const open = async (
  scene: Scene,
  env: Environment,
  { organizations, logEnv = env, ...options }: OpenOptions = {},
): Promise<Opened> => {
  const log = await openLog(scene, logEnv);
  // So that it knows them from its start on.
  const keys = await issueKeys(log, organizations);
  const service = await Service.start(scene, { env, ...options });
  await keysKnown(service.url, keys);
  return { service, log, keys, env };
};

/** The same started as by `npm start`, over the embedded server. */
export const openEmbedded = async (scene: Scene, dataDir: string): Promise<Opened> => {
  scene.later(() => removeEmbedded(dataDir));
  const env = { DATA_DIR: dataDir };
  const service = await Service.start(scene, { env, supervised: true });
  const log = await openLog(scene, { DATABASE_URL: (await embeddedServer(dataDir))!.url });
  const keys = await issueKeys(log);
  await keysKnown(service.url, keys);
  return { service, log, keys, env };
};

/** The same on a database of its own. */
export const openOnDatabase = async (scene: Scene, options?: OpenOptions): Promise<Opened> =>
  open(scene, { DATABASE_URL: (await scene.database()).url }, options);
