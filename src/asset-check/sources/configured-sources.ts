import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { reportFailures } from '../../flow/background.js';
import { Config } from '../../runtime/config.js';
import { EventLog } from '../../event-log/event-log.js';
import { Readiness } from '../../ops/readiness.js';
import { WatchPool } from '../../read-models/pools.js';
import { Guards } from '../lists/guards.js';
import { HostingSuffixes, shippedSuffixes } from '../lists/hosting-suffixes.js';
import { ListSource } from '../lists/list-source.js';
import { REJECTIONS } from '../lists/list-entry.js';
import { LookupSource, OUTCOMES } from '../lookup-source.js';
import { OwnStatuses } from '../own/own-statuses.js';
import type { Source } from './sources.js';
import {
  type ListSettings,
  type LookupSettings,
  type OwnSettings,
  SOURCES,
  type SourceSettings,
  type SourcesSettings,
} from './sources-file.js';

/** Maximum time in ms that the start waits for local data: own statuses, files and copies on disk. */
const LOCAL_SOURCES_TIMEOUT_MS = 2_000;
/**
 * Maximum time in ms that the start waits for downloads. A list that arrives later is used as soon as it is complete.
 */
const REMOTE_LISTS_TIMEOUT_MS = 150;
/** Maximum age of the own statuses in ms. If the statuses are older, readiness is `degraded`. */
const STALE_AFTER_MS = 5_000;

/** Creates the configured sources and keeps them current while the process runs. */
@Injectable()
export class ConfiguredSources implements OnModuleInit, BeforeApplicationShutdown {
  readonly sources: readonly Source[];
  readonly budgetMs: number;
  /** The enabled guards. */
  readonly guards: Guards;
  /** Whether and where names of different people begin. */
  readonly suffixes: HostingSuffixes;
  private readonly logger = new Logger('sources');
  private readonly stop = new AbortController();
  /** The enabled lists. */
  private readonly lists: readonly ListSource[];
  /** The enabled guards, then the enabled lists. */
  private readonly read: readonly ListSource[];
  /** This service's own statuses; undefined if their source is disabled. */
  readonly own: OwnStatuses | undefined;
  private polling: Promise<unknown> | undefined;

  constructor(
    @Inject(SOURCES) { budgetMs, hostingSuffixes, sources }: SourcesSettings,
    config: Config,
    pool: WatchPool,
    log: EventLog,
    registry: Registry,
    readiness: Readiness,
  ) {
    const suffixes = new HostingSuffixes([...shippedSuffixes(), ...hostingSuffixes]);
    this.suffixes = suffixes;
    const report = (sentence: string, level: 'log' | 'warn'): void => this.logger[level](sentence);
    const { maxBytes } = sources.find(({ kind }) => kind === 'own') as OwnSettings;
    const own = new OwnStatuses(pool, log.forSubscriptions, suffixes, maxBytes, report);
    const lookups = new Counter({
      name: 'threat_protection_asset_check_lookups_total',
      help: 'Lookups over HTTP, by source and outcome',
      labelNames: ['source', 'outcome'],
      registers: [registry],
    });
    const lookUpOf = (settings: LookupSettings): LookupSource => {
      const source = settings.id;
      for (const outcome of OUTCOMES) lookups.inc({ source, outcome }, 0);
      const failures = reportFailures(`look up contents at ${source}`, registry);
      return new LookupSource(settings, (outcome, error) => {
        lookups.inc({ source, outcome });
        if (error !== undefined) failures.failed(error);
      });
    };
    const isGuard = (settings: SourceSettings): settings is ListSettings => settings.kind === 'guard';
    const recount = (): Promise<unknown> => Promise.all(this.lists.map((list) => list.countOverruled()));
    const guardSources = sources
      .filter(isGuard)
      .filter(({ mode }) => mode === 'ENABLED')
      .map((settings) => new ListSource(settings, suffixes, config.dataDir, report, undefined, recount));
    this.guards = new Guards(guardSources);
    const connect = (settings: SourceSettings): Source['of'] => {
      if (settings.kind === 'own') return { kind: 'own', statuses: own };
      if (settings.kind === 'http') return { kind: 'http', lookUp: lookUpOf(settings) };
      return { kind: 'list', list: new ListSource(settings, suffixes, config.dataDir, report, this.guards) };
    };
    this.budgetMs = budgetMs;
    const queried = sources.filter((settings) => !isGuard(settings));
    this.sources = queried.map((settings) => ({
      id: settings.id,
      mode: settings.mode,
      appeal: settings.appeal,
      redistribute: settings.redistribute,
      of: connect(settings),
    }));
    this.own = this.sources.some(({ of, mode }) => of.kind === 'own' && mode === 'ENABLED') ? own : undefined;
    this.lists = this.sources.flatMap(({ of: source, mode }) =>
      source.kind === 'list' && mode === 'ENABLED' ? [source.list] : [],
    );
    this.read = [...guardSources, ...this.lists];
    // Every list listens to the signal, and there may be any number of lists.
    setMaxListeners(0, this.stop.signal);
    this.register(registry, readiness);
  }

  /** Loads the sources. Waits at most `LOCAL_SOURCES_TIMEOUT_MS` plus `REMOTE_LISTS_TIMEOUT_MS`. */
  async onModuleInit(): Promise<void> {
    const { signal } = this.stop;
    const local = this.read.map(async (list) => {
      await list.load();
      if (list.settings.file !== undefined) await list.refresh(signal);
    });
    const loaded = Promise.all([...local, this.own?.refresh()]);
    await Promise.race([loaded, sleep(LOCAL_SOURCES_TIMEOUT_MS, undefined, { ref: false })]);
    const remote = this.read.map(async (list, index) => {
      await local[index];
      if (list.settings.file === undefined) await list.refresh(signal);
    });
    const attempted = Promise.all(remote).then(() => this.warnIfNoListIsLoaded());
    await Promise.race([attempted, sleep(REMOTE_LISTS_TIMEOUT_MS, undefined, { ref: false })]);
    this.polling = Promise.all([
      ...this.read.map(async (list, index) => {
        await remote[index];
        await list.refreshPeriodically(signal);
      }),
      this.own?.pollUntilStopped(signal),
    ]);
  }

  /** Stops polling before the connection pool closes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.polling;
  }

  /**
   * Changes whenever a source or a guard has changed; undefined until each of them was fetched, or its first fetch failed.
   * What was loaded from disk may be weeks old.
   */
  get version(): string | undefined {
    if (this.own?.age === undefined && this.own !== undefined) return undefined;
    if (this.read.some(({ wasRefreshed }) => !wasRefreshed)) return undefined;
    return [this.own?.version, ...this.read.map(({ version }) => version)].join();
  }

  private warnIfNoListIsLoaded(): void {
    if (this.stop.signal.aborted || this.lists.length === 0 || this.lists.some(({ isLoaded }) => isLoaded)) return;
    const others = [
      ...(this.own === undefined ? [] : ["this service's own statuses"]),
      ...(this.sources.some(({ of, mode }) => of.kind === 'http' && mode === 'ENABLED') ? ['lookups over HTTP'] : []),
    ];
    this.logger.warn(
      others.length === 0
        ? 'No list could be read; every verdict is UNKNOWN until a list can be read.'
        : `No list could be read; verdicts come only from ${others.join(' and ')}.`,
    );
  }

  private register(registry: Registry, readiness: Readiness): void {
    const { own, lists, read } = this;
    if (own !== undefined)
      readiness.register('asset-statuses', () => {
        const { age, known, bytes } = own;
        if (age === undefined) return { state: 'unavailable', detail: 'The asset statuses have not been read yet' };
        return { state: age > STALE_AFTER_MS ? 'degraded' : 'ok', detail: { known, bytes, ageMs: Math.round(age) } };
      });
    // An instance without a list is ready but degraded. If such an instance were unready, all instances would be
    // unready, because all of them lack the same list.
    readiness.register('lists', () => ({
      state: read.every(({ isLoaded }) => isLoaded) ? 'ok' : 'degraded',
      detail: Object.fromEntries(
        read.map(({ state: { id, entries, lastError } }) => [id, { entries, failing: lastError !== undefined }]),
      ),
    }));
    const gauge = <Measured extends ListSource | LookupSource>(
      name: string,
      help: string,
      measuredSources: readonly Measured[],
      value: (source: Measured) => number | undefined,
    ): Gauge =>
      new Gauge({
        name,
        help,
        labelNames: ['source'],
        registers: [registry],
        collect() {
          this.reset();
          for (const source of measuredSources) {
            const measured = value(source);
            if (measured !== undefined) this.set({ source: source.settings.id }, measured);
          }
        },
      });
    const ownGauge = (name: string, help: string, value: (statuses: OwnStatuses) => number): void => {
      if (own === undefined) return;
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(value(own));
        },
      });
    };
    ownGauge(
      'threat_protection_asset_check_own_statuses',
      'Assets with a status of this service',
      ({ known }) => known,
    );
    ownGauge(
      'threat_protection_asset_check_own_bytes',
      "Memory used for this service's own statuses",
      ({ bytes }) => bytes,
    );
    gauge(
      'threat_protection_asset_check_list_entries',
      'Entries in use per list; 0 if the list was never read',
      read,
      ({ state }) => state.entries,
    );
    gauge(
      'threat_protection_asset_check_list_overruled_entries',
      'Entries per list that a guard overrules; absent without guards, and until all guards are read',
      lists,
      ({ state }) => state.overruled?.count,
    );
    new Gauge({
      name: 'threat_protection_asset_check_list_rejected_entries',
      help: 'Rejected entries, by list and reason',
      labelNames: ['source', 'reason'],
      registers: [registry],
      collect() {
        for (const { state } of read)
          for (const reason of REJECTIONS) {
            const entries = state.rejected?.find((rejected) => rejected.reason === reason);
            this.set({ source: state.id, reason }, entries?.count ?? 0);
          }
      },
    });
    gauge('threat_protection_asset_check_list_bytes', 'Memory used per list', read, ({ bytes }) => bytes);
    gauge(
      'threat_protection_asset_check_list_age_seconds',
      'Time since each list was last known to be current',
      read,
      ({ state: { checkedAt } }) => (checkedAt === undefined ? undefined : (Date.now() - checkedAt) / 1_000),
    );
    gauge(
      'threat_protection_asset_check_list_failing',
      '1 if the last refresh of a list failed',
      read,
      ({ state: { lastError } }) => (lastError === undefined ? 0 : 1),
    );
    const lookUps = this.sources.flatMap(({ of }) => (of.kind === 'http' ? [of.lookUp] : []));
    const help = '1 while a source is skipped because it failed five times in a row';
    gauge('threat_protection_asset_check_breaker_open', help, lookUps, ({ isCircuitOpen }) => (isCircuitOpen ? 1 : 0));
  }
}
