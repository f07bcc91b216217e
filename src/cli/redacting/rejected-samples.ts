import type { Pool } from 'pg';
import { hashOfKey } from '../../assets/keys.js';
import { parseContent } from '../../assets/parse-content.js';
import { EMPTY_SAMPLES, READ_SAMPLES } from '../../ingestion/rejections/statements.js';

/** The contents in a sample, which may be cut off. */
const CONTENTS = /"content"\s*:\s*("(?:[^"\\]|\\.)*")/g;
const PAGE = 1_000;

const isAbout = (sample: string, hashes: ReadonlySet<string>): boolean =>
  [...sample.matchAll(CONTENTS)].some(([, text]) => {
    const { parsed } = parseContent(JSON.parse(text!) as string);
    return parsed?.keys.some((key) => hashes.has(hashOfKey(key))) ?? false;
  });

/**
 * Empties the samples of rejected events that have the content of one of these assets. Their counts stay.
 * @returns the number of emptied samples
 */
export const redactSamples = async (pool: Pool, hashes: readonly string[]): Promise<number> => {
  const wanted = new Set(hashes);
  let emptied = 0;
  for (let block = 0; ;) {
    const rows = await READ_SAMPLES.run(pool, { block, limit: PAGE });
    const samples = rows.filter(({ data }) => isAbout(data, wanted)).map(({ key }) => key);
    if (samples.length > 0) await EMPTY_SAMPLES.run(pool, { keys: samples });
    emptied += samples.length;
    if (rows.length < PAGE) return emptied;
    block = Number(rows.at(-1)!.key.slice(1).split(',')[0]);
  }
};
