import { SuffixHashes } from '../../asset-check/lists/host-table.js';
import { querySources, type Source } from '../../asset-check/sources/sources.js';
import { type AttributedResult, decide } from '../../asset-check/verdict.js';
import { assetWithoutHost, type ParsedContent } from '../../assets/asset.js';
import { locationContent } from '../../assets/location-asset.js';
import { parseContent } from '../../assets/parse-content.js';

/** The label of a host or page of which no source has an entry. No platform has profiles of this name. */
export const PROBE = '_0';

/** Asks sources as a check does, without parsing a content and without a message. Each answer: whether it is BLOCKED. */
export class Questions {
  private readonly hashes = new SuffixHashes();

  /** @param sources own statuses and lists, which answer at once */
  constructor(private readonly sources: readonly Source[]) {}

  isHostBlocked(host: string, rest = ''): boolean {
    const { parsed } = locationContent({ host, isName: !/\.\d+$/.test(host), scheme: 'https', rest }) ?? {};
    return parsed !== undefined && this.isBlocked(parsed);
  }

  isMailboxBlocked(host: string): boolean {
    const { parsed } = parseContent(`${PROBE}@${host}`);
    return parsed !== undefined && this.isBlocked(parsed);
  }

  /** @returns undefined if no content has this key */
  isKeyBlocked(key: string): boolean | undefined {
    const [type, content] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
    const parsed =
      type === 'ADDRESS' || type === 'EMAIL' ? parseContent(content).parsed : assetWithoutHost(type, content);
    // An account with a tag also has what the account has. No client looks one up.
    const isTagged = parsed?.account !== undefined && parsed.account !== parsed.name;
    return parsed?.keys[0] === key && !isTagged ? this.isBlocked(parsed) : undefined;
  }

  private isBlocked(parsed: ParsedContent): boolean {
    const query = { content: '', parsed, organization: '', deadline: 0, hashes: this.hashes, lookups: undefined };
    const results = querySources(this.sources, query, (source, error) => {
      throw new Error(`Source ${source} could not be asked for a local list`, { cause: error });
    });
    return decide(results as readonly AttributedResult[]).status === 'BLOCKED';
  }
}
