import { sendRequest } from './http-request.js';
import type { Target } from './target.js';

const BULK = 1_000;

interface Verdict {
  readonly status: string;
  readonly code?: string;
  readonly sources: readonly { readonly status: string }[];
}

/** Returns the verdicts that an organization gets for contents, in order. */
export const verdictsOf = async (
  { url, keys }: Pick<Target, 'url' | 'keys'>,
  organization: string,
  contents: readonly string[],
): Promise<Verdict[]> => {
  const verdicts: Verdict[] = [];
  for (let from = 0; from < contents.length; from += BULK) {
    const batch = contents.slice(from, from + BULK);
    const { body } = await sendRequest(`${url}/v2/asset/check/bulk`, {
      key: keys[organization],
      json: { contents: batch },
    });
    const missing = { status: 'no verdict', code: JSON.stringify(body), sources: [] };
    verdicts.push(...(body.results ?? batch.map(() => missing)));
  }
  return verdicts;
};
