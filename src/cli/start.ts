import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSourcesFile } from '../asset-check/sources-file.js';
import { type Config, environmentOf } from '../config.js';
import { type Database, openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { say } from '../terminal.js';
import { Child } from './child.js';
import { SIGNALS } from './interruption.js';

/** Together with the database's own limits, less than 10 s. */
const API_STOPS_WITHIN_MS = 4_500;
const PROJECTOR_STOPS_WITHIN_MS = 2_000;
/** How long the database may take after a second signal. */
const AT_ONCE_MS = 500;

/**
 * Node accepts these only at its start, so everything that starts an API passes them: this file, the README, the
 * Dockerfile, the compose file. MB of half the young generation: Node 24 would use more without being faster; with half
 * as much, routes that query the database lose a tenth of their speed. On EventStoreDB an append makes some 50 KB of garbage
 * in the client, and ingestion is a sixth faster with as much as Node uses by itself.
 */
export const apiFlags = (eventStoreUrl: string | undefined): readonly string[] =>
  eventStoreUrl === undefined ? ['--max-semi-space-size=16'] : [];

const built = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const portOf = <T>(url: string | undefined, otherwise: T): number | T =>
  url === undefined ? otherwise : Number(new URL(url).port || 80);

/** The whole service on this machine: the API, the projector and, unless one is set, the database. */
export class Service {
  #database: Promise<Database> | undefined;
  #stopped: Promise<void> | undefined;
  #url: string | undefined;
  #opsUrl: string | undefined;
  #databaseUrl: string | undefined;
  readonly #api: Child;
  readonly #projector: Child;

  constructor(
    private readonly config: Config,
    private readonly log: (line: string) => void,
  ) {
    this.#api = new Child(
      'API',
      [...apiFlags(config.eventStoreUrl), built('src/main.js')],
      () => this.#environment(),
      log,
    );
    this.#projector = new Child('projector', [built('projections/main.js')], () => this.#environment(), log);
  }

  /**
   * @returns the API's URL
   * @throws Error if a part does not start; what has started must still be stopped
   */
  async start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    // An invalid file would end the API again and again.
    readSourcesFile(this.config);
    this.#database = openDatabase(this.config, this.log);
    const { url: databaseUrl } = await this.#database;
    this.#databaseUrl = databaseUrl;
    const [{ url, opsUrl }] = await Promise.all([this.#api.start(), this.#projector.start()]);
    if (url === undefined) throw new Error('The API did not report its address');
    this.#url = url;
    this.#opsUrl = opsUrl;
    return { url, databaseUrl };
  }

  /** Stops the API, then the projector, then the database. Within 10 s. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stopGracefully());
  }

  /** Kills everything. Nothing acknowledged is lost. */
  async kill(): Promise<void> {
    this.#api.kill();
    this.#projector.kill();
    const database = await this.#database?.catch(() => undefined);
    await Promise.race([database?.release(), sleep(AT_ONCE_MS)]);
  }

  async #stopGracefully(): Promise<void> {
    await this.#api.stop(API_STOPS_WITHIN_MS);
    await this.#projector.stop(PROJECTOR_STOPS_WITHIN_MS);
    const database = await this.#database?.catch(() => undefined);
    await database?.release();
  }

  #environment(): NodeJS.ProcessEnv {
    return environmentOf(this.config, {
      databaseUrl: this.#databaseUrl,
      // A restarted API reuses the port that its clients know, even if it was chosen freely at first.
      port: portOf(this.#url, this.config.port),
      opsPort: portOf(this.#opsUrl, this.config.opsPort),
    });
  }
}

/**
 * Stops the service on the first signal, and kills it on the second.
 * @returns the exit code, after a graceful stop; the second signal ends this process
 */
export const stopOnSignals = (service: Service, log: (line: string) => void): Promise<number> =>
  new Promise((resolve) => {
    let signalled = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (signalled) {
        log(`${signal} again: killing everything`);
        void service.kill().finally(() => process.exit(1));
        return;
      }
      signalled = true;
      log(`${signal}: stopping the API, the projector and the database`);
      service.stop().then(
        () => resolve(0),
        (error: Error) => {
          log(error.message);
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
  const service = new Service(config, say);
  const stopped = stopOnSignals(service, say);
  const failed = service.start().then(
    () => new Promise<never>(() => {}),
    async (error: Error) => {
      say(error.message);
      await service.stop();
      return 1;
    },
  );
  return Promise.race([stopped, failed]);
};
