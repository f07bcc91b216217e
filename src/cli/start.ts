import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSourcesFile } from '../asset-check/sources/sources-file.js';
import { type Config, ConfigError, environmentOf, EXIT_CONFIG } from '../runtime/config.js';
import { type Database, openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { type WriteLog, logToStderr } from '../runtime/log-line.js';
import { masterKeyFile, openMasterKeys } from '../webhooks/master-keys.js';
import { Child } from './runtime/child.js';
import { SIGNALS } from './runtime/interruption.js';

/** Together with the database's own limits, less than 10 s. */
const API_STOPS_WITHIN_MS = 4_500;
const PROJECTOR_STOPS_WITHIN_MS = 2_000;
/** While the API stops. */
const DELIVERIES_STOP_WITHIN_MS = 4_500;
/** How long the database may take after a second signal. */
const AT_ONCE_MS = 500;

/**
 * Node accepts these only at its start, so everything that starts an API passes them: this file, the Dockerfile and
 * `docs/operations/deployment.md`. MB of half the young generation: Node 24 would use more without being faster;
 * with half as much, routes that query the database lose a tenth of their speed. On EventStoreDB an append makes some
 * 50 KB of garbage in the client, and ingestion is a sixth faster with as much as Node uses by itself: no flag.
 */
export const apiFlags = (eventStoreUrl: string | undefined): readonly string[] =>
  eventStoreUrl === undefined ? ['--max-semi-space-size=16'] : [];

const built = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The whole service on this machine: the API, the projector, the deliveries and, unless one is set, the database. */
export class Service {
  #database: Promise<Database> | undefined;
  #stopped: Promise<void> | undefined;
  #url: string | undefined;
  #databaseUrl: string | undefined;
  readonly #api: Child;
  readonly #projector: Child;
  readonly #deliveries: Child;
  /** Rejected if a part cannot run with its settings, however long it has run; what has started must still be stopped. */
  readonly failed: Promise<never>;

  constructor(
    private readonly config: Config,
    private readonly log: WriteLog,
  ) {
    let fail!: (error: Error) => void;
    this.failed = new Promise((_, reject) => (fail = reject));
    this.failed.catch(() => {});
    this.#api = new Child(
      'API',
      [...apiFlags(config.eventStoreUrl), built('src/main.js')],
      () => this.#environment(),
      log,
      fail,
    );
    const worker = (name: string, script: string): Child =>
      new Child(name, [built(script)], () => this.#workersEnvironment(), log, fail);
    this.#projector = worker('projector', 'projections/main.js');
    this.#deliveries = worker('delivery process', 'src/deliver.js');
  }

  /**
   * @returns the API's URL
   * @throws Error if a part does not start; what has started must still be stopped
   */
  start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    return Promise.race([this.#start(), this.failed]);
  }

  async #start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    // An invalid file would end the API again and again.
    readSourcesFile(this.config);
    this.#database = openDatabase(this.config, this.log);
    const { url: databaseUrl } = await this.#database;
    this.#databaseUrl = databaseUrl;
    const delivers = openMasterKeys(this.config) !== undefined;
    // One after the other: the first prepares the tables or says what prevents it, and what listens is also counted.
    await this.#projector.start();
    const [{ url }] = await Promise.all([this.#api.start(), delivers && this.#deliveries.start()]);
    if (url === undefined) throw new Error('The API did not report its address');
    if (!delivers) this.log('WEBHOOK_MASTER_KEY_FILE is not set: no webhooks can be made, and none are delivered');
    this.#url = url;
    return { url, databaseUrl };
  }

  /** Stops the API and the deliveries, then the projector, then the database. Within 10 s. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stopGracefully());
  }

  /** Kills everything. Nothing acknowledged is lost. */
  async kill(): Promise<void> {
    this.#api.kill();
    this.#projector.kill();
    this.#deliveries.kill();
    const database = await this.#database?.catch(() => undefined);
    await Promise.race([database?.release(), sleep(AT_ONCE_MS)]);
  }

  async #stopGracefully(): Promise<void> {
    await Promise.all([this.#api.stop(API_STOPS_WITHIN_MS), this.#deliveries.stop(DELIVERIES_STOP_WITHIN_MS)]);
    await this.#projector.stop(PROJECTOR_STOPS_WITHIN_MS);
    const database = await this.#database?.catch(() => undefined);
    await database?.release();
  }

  /** On one machine `OPS_PORT` is the API's; without a port of its own a worker has none. */
  #workersEnvironment(): NodeJS.ProcessEnv {
    const { OPS_HOST, OPS_PORT: _, ...rest } = this.#environment();
    const { projectorOpsPort, deliveriesOpsPort } = this.config;
    return projectorOpsPort === undefined && deliveriesOpsPort === undefined ? rest : { ...rest, OPS_HOST };
  }

  #environment(): NodeJS.ProcessEnv {
    return environmentOf(this.config, {
      databaseUrl: this.#databaseUrl,
      // A restarted API reuses the port that its clients know, even if it was chosen freely at first.
      port: this.#url === undefined ? this.config.port : Number(new URL(this.#url).port || 80),
      webhookMasterKeyFile: masterKeyFile(this.config),
    });
  }
}

/**
 * Stops the service on the first signal, and kills it on the second.
 * @returns the exit code, after a graceful stop; the second signal ends this process
 */
export const stopOnSignals = (service: Pick<Service, 'stop' | 'kill'>, log: WriteLog): Promise<number> =>
  new Promise((resolve) => {
    let signalled = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (signalled) {
        log(`${signal} again: killing everything`);
        void service.kill().finally(() => process.exit(1));
        return;
      }
      signalled = true;
      log(`${signal}: stopping the API, the projector, the deliveries and the database`);
      service.stop().then(
        () => resolve(0),
        (error: Error) => {
          log(error.message, 'error');
          resolve(1);
        },
      );
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });

/**
 * Runs the service until a signal stops it.
 * @returns the exit code
 */
export const start = async (config: Config): Promise<number> => {
  const writeLog = logToStderr('start', config.logFormat);
  const service = new Service(config, writeLog);
  const stopped = stopOnSignals(service, writeLog);
  const failed = service
    .start()
    .then(() => service.failed)
    .catch(async (error: Error) => {
      writeLog(error.message, 'error');
      await service.stop();
      return error instanceof ConfigError ? EXIT_CONFIG : 1;
    });
  return Promise.race([stopped, failed]);
};
