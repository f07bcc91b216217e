import type { Opinion } from '../../src/asset-check/opinion.js';
import { HostingSuffixes, shippedSuffixes } from '../../src/asset-check/sources/hosting-suffixes.js';
import { type Format, type ListContent, readList } from '../../src/asset-check/sources/list-format.js';
import { askedText, askList } from '../../src/asset-check/sources/list-opinion.js';
import { SuffixHashes } from '../../src/asset-check/sources/suffix-hashes.js';
import { readContent } from '../../src/assets/read-content.js';

const hashes = new SuffixHashes();

/** Reads a list as it would be sent, and asks it as a check does. */
export const listOf = async (
  text: string,
  format: Format,
  { verdict = 'BLOCKED' as 'ALLOWED' | 'BLOCKED', hosting = [] as readonly string[] } = {},
): Promise<{ content: ListContent; ask: (content: string) => Opinion | string }> => {
  const suffixes = new HostingSuffixes([...shippedSuffixes(), ...hosting]);
  const bytes = Buffer.from(text);
  const content = await readList({ chunks: [bytes], size: bytes.length }, format, verdict, suffixes);
  return {
    content,
    ask: (asked) => {
      const { reading, code } = readContent(asked);
      if (reading === undefined) return code;
      hashes.read(askedText(reading), reading.hostIsName);
      return askList(content, format, reading, hashes, suffixes);
    },
  };
};

/** An opinion in few words: `BLOCKED match`, `ALLOWED match parent-domain`, or the reason for UNKNOWN. */
export const brief = (opinion: Opinion | string): string => {
  if (typeof opinion === 'string') return opinion;
  const { status, reason, match } = opinion;
  return [status === 'UNKNOWN' ? undefined : status, match, reason].filter((part) => part !== undefined).join(' ');
};
