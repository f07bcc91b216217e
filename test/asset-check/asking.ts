import type { Opinion } from '../../src/asset-check/opinion.js';
import { HostingSuffixes, shippedSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import { type Format, type ListContent, parseList } from '../../src/asset-check/lists/parse-list.js';
import { lookupText, matchList } from '../../src/asset-check/lists/match-list.js';
import { SuffixHashes } from '../../src/asset-check/lists/suffix-hashes.js';
import { parseContent } from '../../src/assets/parse-content.js';

const hashes = new SuffixHashes();

/** Reads a list as it would be sent, and asks it as a check does. */
export const listOf = async (
  text: string,
  format: Format,
  { verdict = 'BLOCKED' as 'ALLOWED' | 'BLOCKED', hosting = [] as readonly string[] } = {},
): Promise<{ content: ListContent; ask: (content: string) => Opinion | string }> => {
  const suffixes = new HostingSuffixes([...shippedSuffixes(), ...hosting]);
  const bytes = Buffer.from(text);
  const content = await parseList({ chunks: [bytes], size: bytes.length }, format, verdict, suffixes);
  return {
    content,
    ask: (asked) => {
      const { reading, code } = parseContent(asked);
      if (reading === undefined) return code;
      hashes.read(lookupText(reading), reading.isDnsName);
      return matchList(content, format, reading, hashes, suffixes);
    },
  };
};

/** An opinion in few words: `BLOCKED match`, `ALLOWED match parent-domain`, or the reason for UNKNOWN. */
export const brief = (opinion: Opinion | string): string => {
  if (typeof opinion === 'string') return opinion;
  const { status, reason, match } = opinion;
  return [status === 'UNKNOWN' ? undefined : status, match, reason].filter((part) => part !== undefined).join(' ');
};
