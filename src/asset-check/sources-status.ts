import type { Config } from '../config.js';
import type { Mode } from './opinion.js';
import { withoutSecrets } from './lists/list-address.js';
import { ListCopy } from './lists/list-copy.js';
import type { UnusedPages } from './lists/parse-list.js';
import { readSourcesFile } from './sources-file.js';

/** How one list does, for an operator. */
export interface ListStatus {
  readonly id: string;
  readonly mode: Mode;
  /** Its path, or its address without user, password, query and fragment. */
  readonly from: string;
  /** In use; 0 where the list was never read. */
  readonly entries: number;
  /** Left out: no host, or a public suffix itself. */
  readonly refused: number;
  /** Those of them that name a page on a host where not anybody publishes; absent where there are none. */
  readonly unusedPages?: UnusedPages;
  /** Since the list was last known to be current; absent where it was never read. */
  readonly ageSeconds?: number;
  readonly lastError?: string;
  /** ms */
  readonly lastErrorAt?: number;
}

/**
 * What the API's instances last wrote down of each list, in configured order. Works whether they run or not.
 * @throws ConfigError where the sources file is wrong
 */
export const readSourcesStatus = async (
  config: Pick<Config, 'sourcesFile' | 'variable' | 'dataDir'>,
  now = Date.now(),
): Promise<ListStatus[]> => {
  const { sources } = readSourcesFile(config);
  const lists = sources.filter((source) => source.kind === 'list');
  return Promise.all(
    lists.map(async ({ id, mode, url, file }) => {
      const state = await new ListCopy(config.dataDir, id).readState();
      const { entries = 0, refused = 0, checkedAt, lastError, lastErrorAt } = state ?? {};
      const ageSeconds = checkedAt === undefined ? undefined : Math.round((now - checkedAt) / 1_000);
      return {
        id,
        mode,
        from: url === undefined ? file! : withoutSecrets(url),
        entries,
        refused,
        ...(state?.unusedPages && state.unusedPages.count > 0 ? { unusedPages: state.unusedPages } : {}),
        ageSeconds,
        lastError,
        lastErrorAt,
      };
    }),
  );
};
