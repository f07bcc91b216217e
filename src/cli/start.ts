import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSourcesFile } from '../asset-check/sources-file.js';
import { type Config, environmentOf } from '../config.js';
import { type Database, openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { say } from '../terminal.js';
import { Child } from './child.js';
import { SIGNALS } from './interruption.js';

/** Together with the database's own limits less than 10 s. */
const API_STOPS_WITHIN_MS = 4_500;
const PROJECTOR_STOPS_WITHIN_MS = 2_000;
/** What the database gets after a second signal. */
const AT_ONCE_MS = 500;

/**
 * Node takes them at its start alone, so whoever starts an API gives them: here, the README, the Dockerfile, the compose
 * file. MB of half the young generation: Node 24 would take twice as much and be no faster; with half as much a route
 * that asks the database loses a tenth of its speed.
 */
export const API_FLAGS = ['--max-semi-space-size=16'];

const built = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const portOf = <T>(url: string | undefined, otherwise: T): number | T =>
  url === undefined ? otherwise : Number(new URL(url).port || 80);

/** The whole service on this machine: the database where none is set, the API and the projector. */
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
    this.#api = new Child('API', [...API_FLAGS, built('src/main.js')], () => this.#environment(), log);
    this.#projector = new Child('projector', [built('projections/main.js')], () => this.#environment(), log);
  }

  /**
   * @returns where the API listens
   * @throws Error where a part does not start; what has started is still to be stopped
   */
  async start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    // A mistake in it would end the API again and again.
    readSourcesFile(this.config);
    this.#database = openDatabase(this.config, this.log);
    const { url: databaseUrl } = await this.#database;
    this.#databaseUrl = databaseUrl;
    const [{ url, opsUrl }] = await Promise.all([this.#api.start(), this.#projector.start()]);
    if (url === undefined) throw new Error('The API did not say where it listens');
    this.#url = url;
    this.#opsUrl = opsUrl;
    return { url, databaseUrl };
  }

  /** Who may ask first, then who answers, then where it is kept. Within 10 s. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stopInOrder());
  }

  /** Everything now. Nothing answered is lost by it. */
  async kill(): Promise<void> {
    this.#api.kill();
    this.#projector.kill();
    const database = await this.#database?.catch(() => undefined);
    await Promise.race([database?.release(), sleep(AT_ONCE_MS)]);
  }

  async #stopInOrder(): Promise<void> {
    await this.#api.stop(API_STOPS_WITHIN_MS);
    await this.#projector.stop(PROJECTOR_STOPS_WITHIN_MS);
    const database = await this.#database?.catch(() => undefined);
    await database?.release();
  }

  #environment(): NodeJS.ProcessEnv {
    return environmentOf(this.config, {
      databaseUrl: this.#databaseUrl,
      // An API that is started again takes the port that its clients know, also where the first one took any.
      port: portOf(this.#url, this.config.port),
      opsPort: portOf(this.#opsUrl, this.config.opsPort),
    });
  }
}

/**
 * Stops the service on the first signal, and kills it on the second.
 * @returns the exit code, after the first has done its work; the second ends this process itself
 */
export const stopOnSignals = (service: Service, log: (line: string) => void): Promise<number> =>
  new Promise((resolve) => {
    let signalled = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (signalled) {
        log(`${signal} again: ends at once`);
        void service.kill().finally(() => process.exit(1));
        return;
      }
      signalled = true;
      log(`${signal}: stops the API, the projector, the database`);
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
