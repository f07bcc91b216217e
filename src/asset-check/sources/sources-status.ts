import type { Config } from '../../runtime/config.js';
import type { Mode } from '../opinion.js';
import { withoutSecrets } from '../lists/list-address.js';
import { ListCopy } from '../lists/list-copy.js';
import type { UnusedPages } from '../lists/parse-list.js';
import { readSourcesFile } from './sources-file.js';

/** A list's state, for an operator. */
export interface ListStatus {
  readonly id: string;
  readonly mode: Mode;
  /** Its path, or its address without user, password, query and fragment. */
  readonly from: string;
  /** In use; 0 if the list was never read. */
  readonly entries: number;
  /** Left out: not a host, or a public suffix. */
  readonly refused: number;
  /** Left-out entries that name a page on a host with a single publisher; absent if there are none. */
  readonly unusedPages?: UnusedPages;
  /** Since the list was last known to be current; absent if never read. */
  readonly ageSeconds?: number;
  readonly lastError?: string;
  /** ms */
  readonly lastErrorAt?: number;
}

/**
 * The state that the API's instances last saved of each list, in configured order. Works whether they are running or
 * not.
 * @throws ConfigError if the sources file is invalid
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
