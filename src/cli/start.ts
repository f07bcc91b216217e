import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, EXIT_CONFIG, type Config, environmentOf } from '../runtime/config.js';
import { type WriteLog, logToStderr } from '../runtime/log-line.js';
import { pause } from '../flow/time.js';
import { readSourcesFile } from '../asset-check/sources/sources-file.js';
import { type Database, openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { requireFreePort } from '../runtime/listen.js';
import { masterKeyFile, openMasterKeys } from '../webhooks/secrets.js';
import { SIGNALS } from './output.js';

const RESTART_DELAY_MS = 1_000;
/** How the end of a process with an invalid setting is described. */
const CONFIG_ERROR = `code ${EXIT_CONFIG}`;

/** The message sent by `notifySupervisor`. */
interface Ready {
  readonly url?: string;
}

/** A program of the service that is kept running as a child process. */
export class Child {
  #process: ChildProcess | undefined;
  readonly #stopping = new AbortController();

  /**
   * @param name used in log messages
   * @param args Node's flags and the script's absolute path
   * @param environment returns the environment of the process; called before each start
   * @param fail called if the process cannot run with its settings; the process is then not started again
   */
  constructor(
    private readonly name: string,
    private readonly args: readonly string[],
    private readonly environment: () => NodeJS.ProcessEnv,
    private readonly log: WriteLog,
    private readonly fail: (error: Error) => void,
  ) {}

  /**
   * Starts the process, and restarts the process one second after it exits. The restart cannot be configured, because
   * restart policies belong to systemd, Compose and Kubernetes.
   * @returns the message of the process that it is ready
   */
  start(): Promise<Ready> {
    return new Promise((resolve) => {
      this.#keepRunning(resolve).catch(this.fail);
    });
  }

  /** Stops the process gracefully or, after the timeout, by force. The process is not started again. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    const child = this.#process;
    if (!child) return;
    const ended = once(child, 'exit');
    // Windows has no SIGTERM, but the child stops when the channel closes.
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.log(`The ${this.name} did not stop within ${timeoutMs} ms and was killed`);
      child.kill('SIGKILL');
    }, timeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /** Kills the process. The process is not started again. */
  kill(): void {
    this.#stopping.abort();
    this.#process?.kill('SIGKILL');
  }

  async #keepRunning(onReady: (ready: Ready) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const end = await this.#run(onReady);
      if (signal.aborted) return;
      if (end === CONFIG_ERROR)
        throw new ConfigError(`The ${this.name} does not start with these settings. See its output above.`);
      this.log(`The ${this.name} ended (${end}) and restarts in ${RESTART_DELAY_MS} ms`, 'warn');
      await pause(RESTART_DELAY_MS, signal);
    }
  }

  /** @returns the signal or the exit code with which the process ended */
  async #run(onReady: (ready: Ready) => void): Promise<string> {
    const child = spawn(process.execPath, this.args, {
      env: this.environment(),
      // When this process ends in any way, the channel closes, and the child notices the closed channel.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Ctrl-C goes to this process only, which then stops its children in order.
      detached: process.platform !== 'win32',
    });
    this.#process = child;
    child.on('message', (message) => onReady(message as Ready));
    try {
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      return signal ?? `code ${code}`;
    } catch (error) {
      return (error as Error).message;
    } finally {
      this.#process = undefined;
    }
  }
}

// The API and the delivery process stop at the same time, then the projector stops, then the database. The whole stop
// takes less than 10 s.
const API_STOP_TIMEOUT_MS = 4_500;
const PROJECTOR_STOP_TIMEOUT_MS = 2_000;
const DELIVERIES_STOP_TIMEOUT_MS = 4_500;
/** How long the database may take to stop after a second signal. */
const KILL_TIMEOUT_MS = 500;

/**
 * Returns Node's flags for the API. Node accepts these flags only on the command line, so this file, the Dockerfile and
 * `docs/operations/deployment.md` all pass the flags. They are sizes of a semi-space in MB.
 *
 * The minimum: by default, a semi-space begins small and grows to the maximum. On Node 20, in about half of the processes
 * that begin so, every collection takes 13 ms instead of 1.5 ms until the process ends.
 *
 * The maximum: the default of Node 24 uses more memory than 16 MB and is not faster; with 8 MB, routes that query the
 * database are 10 % slower. If the log is in EventStoreDB, the default is kept: the client of EventStoreDB creates about
 * 50 KB of garbage per append, and ingestion is a sixth faster with the default.
 */
export const apiFlags = (eventStoreUrl: string | undefined): readonly string[] => [
  '--min-semi-space-size=16',
  ...(eventStoreUrl === undefined ? ['--max-semi-space-size=16'] : []),
];

const built = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Runs the API, the projector, the delivery process and, unless DATABASE_URL is set, the database on this machine. */
export class Service {
  #database: Promise<Database> | undefined;
  #stopped: Promise<void> | undefined;
  #url: string | undefined;
  #databaseUrl: string | undefined;
  readonly #api: Child;
  readonly #projector: Child;
  readonly #deliveries: Child;
  /**
   * Rejects when a part of the service cannot run with its settings. The other parts keep running until `stop` is
   * called.
   */
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
      new Child(name, [built(script)], () => this.#workerEnvironment(), log, fail);
    this.#projector = worker('projector', 'projections/main.js');
    this.#deliveries = worker('delivery process', 'src/deliver.js');
  }

  /**
   * @returns the URLs of the API and the database
   * @throws Error if a part does not start; call `stop` to stop the parts that have started
   */
  start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    return Promise.race([this.#start(), this.failed]);
  }

  async #start(): Promise<{ readonly url: string; readonly databaseUrl: string }> {
    // The sources file is checked before the API starts, because with an invalid file the API would exit and be
    // restarted again and again.
    readSourcesFile(this.config);
    const { host, port, opsHost, opsPort, projectorOpsPort, deliveriesOpsPort } = this.config;
    const ports = [
      [host, port, 'PORT'],
      [opsHost, opsPort, 'OPS_PORT'],
      [opsHost, projectorOpsPort, 'PROJECTOR_OPS_PORT'],
      [opsHost, deliveriesOpsPort, 'DELIVERIES_OPS_PORT'],
    ] as const;
    await Promise.all(
      ports.map(([at, each, setting]) => requireFreePort({ host: at, port: each }, setting, () => this.isStopping)),
    );
    if (this.isStopping) throw new Error('The service was stopped while it started');
    this.#database = openDatabase(this.config, this.log);
    const { url: databaseUrl } = await this.#database;
    this.#databaseUrl = databaseUrl;
    const delivers = openMasterKeys(this.config) !== undefined;
    // The projector starts first, because it migrates the tables, or reports why it cannot migrate them. Events are
    // then counted as soon as the API accepts them.
    await this.#projector.start();
    const [{ url }] = await Promise.all([this.#api.start(), delivers && this.#deliveries.start()]);
    if (url === undefined) throw new Error('The API did not report its address');
    if (!delivers) this.log('Webhooks are disabled: set WEBHOOK_MASTER_KEY_FILE to enable them');
    this.#url = url;
    return { url, databaseUrl };
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** Stops the API and the delivery process, then the projector, then the database. Takes less than 10 s. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stopGracefully());
  }

  /** Kills all processes. No acknowledged event is lost. */
  async kill(): Promise<void> {
    this.#api.kill();
    this.#projector.kill();
    this.#deliveries.kill();
    const database = await this.#database?.catch(() => undefined);
    await Promise.race([database?.release(), sleep(KILL_TIMEOUT_MS)]);
  }

  async #stopGracefully(): Promise<void> {
    await Promise.all([this.#api.stop(API_STOP_TIMEOUT_MS), this.#deliveries.stop(DELIVERIES_STOP_TIMEOUT_MS)]);
    await this.#projector.stop(PROJECTOR_STOP_TIMEOUT_MS);
    const database = await this.#database?.catch(() => undefined);
    await database?.release();
  }

  /** The API uses `OPS_PORT`, so the workers listen only on `PROJECTOR_OPS_PORT` and `DELIVERIES_OPS_PORT`. */
  #workerEnvironment(): NodeJS.ProcessEnv {
    const { OPS_HOST, OPS_PORT: _, ...rest } = this.#environment();
    const { projectorOpsPort, deliveriesOpsPort } = this.config;
    return projectorOpsPort === undefined && deliveriesOpsPort === undefined ? rest : { ...rest, OPS_HOST };
  }

  #environment(): NodeJS.ProcessEnv {
    return environmentOf(this.config, {
      databaseUrl: this.#databaseUrl,
      // A restarted API keeps the port that the clients know, even if PORT is 0.
      port: this.#url === undefined ? this.config.port : Number(new URL(this.#url).port || 80),
      webhookMasterKeyFile: masterKeyFile(this.config),
    });
  }
}

/**
 * Stops the service on the first signal, and kills the service on the second signal.
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
      log(`${signal}: stopping the API, the projector, the delivery process and the database`);
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
      // Ctrl-C also reaches initdb, whose error would be misleading.
      if (service.isStopping) return stopped;
      writeLog(error.message, 'error');
      await service.stop();
      return error instanceof ConfigError ? EXIT_CONFIG : 1;
    });
  return Promise.race([stopped, failed]);
};
