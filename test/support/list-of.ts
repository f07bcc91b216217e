import type { SourceResult } from '../../src/asset-check/verdict.js';
import { HostingSuffixes, shippedSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import { type Format, type ListContent, parseList } from '../../src/asset-check/lists/parse-list.js';
import { lookupText, matchList } from '../../src/asset-check/lists/match-list.js';
import { SuffixHashes } from '../../src/asset-check/lists/host-table.js';
import { parseContent } from '../../src/assets/parse-content.js';

const hashes = new SuffixHashes();

/** Parses a list, and returns a function that looks up content in it. */
export const listOf = async (
  text: string,
  format: Format,
  { verdict = 'BLOCKED' as 'ALLOWED' | 'BLOCKED', hosting = [] as readonly string[] } = {},
): Promise<{ content: ListContent; check: (content: string) => SourceResult | string }> => {
  const suffixes = new HostingSuffixes([...shippedSuffixes(), ...hosting]);
  const bytes = Buffer.from(text);
  const content = await parseList({ chunks: [bytes], size: bytes.length }, format, verdict, suffixes);
  return {
    content,
    check: (asset) => {
      const { parsed, code } = parseContent(asset);
      if (parsed === undefined) return code;
      hashes.read(lookupText(parsed), parsed.isDnsName);
      return matchList(content, format, parsed, hashes, suffixes);
    },
  };
};

/** Formats a result as text: `BLOCKED match`, `ALLOWED match parent-domain`, or the reason of UNKNOWN. */
export const brief = (result: SourceResult | string): string => {
  if (typeof result === 'string') return result;
  const { status, reason, match } = result;
  return [status === 'UNKNOWN' ? undefined : status, match, reason].filter((part) => part !== undefined).join(' ');
};
