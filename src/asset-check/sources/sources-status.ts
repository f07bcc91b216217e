import type { Config } from '../../runtime/config.js';
import type { SourceMode } from '../source-result.js';
import { withoutSecrets } from '../lists/list-address.js';
import { ListCopy, type ListState } from '../lists/disk/list-copy.js';
import { readSourcesFile } from './sources-file.js';

type Saved = Pick<ListState, 'id' | 'entries' | 'refused' | 'rejected' | 'overruled' | 'lastError' | 'lastErrorAt'>;

/** The state of a list, as shown to an operator. */
export interface ListStatus extends Saved {
  readonly kind: 'list' | 'guard';
  readonly mode: SourceMode;
  /** The path of the list, or its URL without user, password, query and fragment. */
  readonly from: string;
  /** Time since the list was last known to be current; absent if the list was never read. */
  readonly ageSeconds?: number;
}

/**
 * Reads, for each list and guard in the configured order, the state that an instance of the API saved last. The instances need
 * not be running.
 * @throws ConfigError if the sources file is invalid
 */
export const readSourcesStatus = async (
  config: Pick<Config, 'sourcesFile' | 'variable' | 'dataDir'>,
  now = Date.now(),
): Promise<ListStatus[]> => {
  const { sources } = readSourcesFile(config);
  const lists = sources.flatMap((source) => (source.kind === 'list' || source.kind === 'guard' ? [source] : []));
  return Promise.all(
    lists.map(async ({ id, kind, mode, url, file }) => {
      const state = await new ListCopy(config.dataDir, id).readState();
      const { entries = 0, refused = 0, rejected, overruled, checkedAt, lastError, lastErrorAt } = state ?? {};
      const ageSeconds = checkedAt === undefined ? undefined : Math.round((now - checkedAt) / 1_000);
      return {
        id,
        kind,
        mode,
        from: url === undefined ? file! : withoutSecrets(url),
        entries,
        refused,
        ...(rejected !== undefined && rejected.length > 0 && { rejected }),
        ...(kind === 'list' && overruled !== undefined && { overruled }),
        ageSeconds,
        lastError,
        lastErrorAt,
      };
    }),
  );
};
