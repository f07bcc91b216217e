import { readFileSync } from 'node:fs';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { Registry } from 'prom-client';
import { ConfiguredSources } from '../asset-check/sources/configured-sources.js';
import { monotonic } from '../flow/time.js';
import type { Requirement } from '../http/access/access.js';
import { Expiry } from '../read-models/expiry.js';
import { WatchPool } from '../read-models/pools.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { Config, ConfigError } from '../runtime/config.js';
import type { ListBuilder } from './build/list-builder.js';
import { FollowedLists } from './followed-lists.js';
import { OLD_LIST_VERSIONS } from './list-versions.js';
import { listsController } from './lists.controller.js';
import { metamaskController } from './metamask/metamask.controller.js';
import { MetaMaskLists } from './metamask/metamask-lists.js';
import { ReadDifferencesForMetaMaskHandler, ReadWholeForMetaMaskHandler } from './metamask/read-metamask.js';
import { OLD_NAMES } from './names/name-statements.js';
import { NameReads } from './names/name-reads.js';
import { readSigner, type Signer } from './publish-lists.js';
import { type Build, ListPublishing } from './publishing.js';
import { ReadListHandler, ReadListsHandler } from './read-lists.js';
import { PrefixLists } from './safe-browsing/prefix-lists.js';
import { ReadPrefixListsHandler, SearchHashesHandler } from './safe-browsing/read-safe-browsing.js';
import { safeBrowsingController } from './safe-browsing/safe-browsing.controller.js';

/** The `Signer` of the lists; undefined if they are not signed. */
const SIGNER = Symbol('signer of local lists');

/** @throws ConfigError if the file cannot be used */
const openSigner = ({ listsSigningKeyFile: file }: Config): Signer | undefined => {
  if (file === undefined) return undefined;
  try {
    return readSigner(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = (error as Error).message;
    throw new ConfigError(`LISTS_SIGNING_KEY_FILE cannot be used: ${why}; make a key with \`lists key FILE\``);
  }
};

/** How far own statuses may be behind the log, in ms. */
const MAX_LAG_MS = 30_000;

/** Builds when a source has changed or a status has expired. What changes during a build leads to the next one. */
export const buildOf = (configured: ConfiguredSources): Build => {
  let builder: ListBuilder | undefined;
  let built: string | undefined;
  /** The instants between which what was built is the same. */
  let [builtAt, expiresAt] = [0, 0];
  return async (cutAt) => {
    const { own } = configured;
    // The lists have what was stored before the build began.
    if (own !== undefined && !(await own.refresh())) throw new Error("This service's own statuses could not be read");
    if (own !== undefined && own.asOf < cutAt - MAX_LAG_MS)
      throw new Error(
        "This service's own statuses do not include the newest events yet; lists of them would unblock what is blocked",
      );
    const { version } = configured;
    const now = Date.now();
    if (version === undefined || (version === built && now >= builtAt && now < expiresAt)) return undefined;
    // Only the process that builds loads the tables of suffixes.
    const { ListBuilder: Builder } = await import('./build/list-builder.js');
    builder ??= new Builder(configured.sources, configured.suffixes, configured.guards);
    const nextExpiry = own?.nextExpiry(now) ?? Number.POSITIVE_INFINITY;
    const lists = await builder.build(now);
    // Without a result, the caller would publish its previous build, which may be hours old.
    if (lists === undefined) throw new Error('A list or a guard was replaced during the build; it is repeated');
    built = version;
    [builtAt, expiresAt] = [now, nextExpiry];
    return lists;
  };
};

const EXPOSED = 'ETag, List-Version, List-Cut-At, List-Signature, Preference-Applied, Retry-After, X-Request-Id';

/** Creates the routes of all clients. @param isPublic whether they need no key */
const controllersOf = (isPublic: boolean): Type[] => {
  const access: Requirement = {
    scope: 'lists',
    organization: false,
    isPublic,
    hasPublishedKeys: true,
    isCrossOrigin: true,
    sharesBuffers: true,
  };
  const vary = isPublic ? 'Accept, Accept-Encoding' : 'X-API-KEY, Accept, Accept-Encoding';
  const headers = { 'cache-control': 'public, max-age=5', vary, 'access-control-expose-headers': EXPOSED };
  return [listsController, metamaskController, safeBrowsingController].map((create) => create(access, headers));
};

/** Serves the lists, and builds them while no other process does. Not imported if `LISTS=off`. */
@Module({})
export class ListsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stop = new AbortController();
  private readonly publishing: ListPublishing;
  private running: Promise<unknown> = Promise.resolve();

  static with(config: Config): DynamicModule {
    return {
      module: ListsModule,
      imports: [ReadModelsModule],
      controllers: controllersOf(config.lists === 'public'),
      providers: [
        FollowedLists,
        ReadListsHandler,
        ReadListHandler,
        ReadWholeForMetaMaskHandler,
        ReadDifferencesForMetaMaskHandler,
        ReadPrefixListsHandler,
        SearchHashesHandler,
        NameReads,
        {
          provide: MetaMaskLists,
          useFactory: (names: NameReads) => new MetaMaskLists(names, monotonic),
          inject: [NameReads],
        },
        {
          provide: PrefixLists,
          useFactory: ({ lists }: FollowedLists) => new PrefixLists(lists),
          inject: [FollowedLists],
        },
        { provide: SIGNER, useValue: openSigner(config) ?? null },
      ],
    };
  }

  constructor(
    private readonly followed: FollowedLists,
    pool: WatchPool,
    sources: ConfiguredSources,
    expiry: Expiry,
    registry: Registry,
    @Inject(SIGNER) signer: Signer | null,
  ) {
    expiry.register(OLD_LIST_VERSIONS);
    expiry.register(OLD_NAMES);
    this.publishing = new ListPublishing(
      pool,
      followed.lists,
      followed.follow,
      buildOf(sources),
      registry,
      signer ?? undefined,
    );
  }

  onApplicationBootstrap(): void {
    const { signal } = this.stop;
    this.running = Promise.all([this.followed.run(signal), this.publishing.run(signal)]);
  }

  /** Ends before the connection pool closes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running;
  }
}
