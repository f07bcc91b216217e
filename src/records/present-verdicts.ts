import type { QueryBus } from '@nestjs/cqrs';
import { GetVerdicts } from '../verdicts/get-verdicts.js';

/** Maximum number of contents that a request sends to sources of the kind `http`: as many as one of them gets at once. */
const MAX_LOOKUPS = 25;

/**
 * Adds `verdictNow` to the disputes whose verdict is no longer BLOCKED. Adds nothing while a source gives no answer,
 * because the source may still say BLOCKED.
 * @param items as JSON, at most 1,000
 */
export const withPresentVerdicts = async (
  queries: QueryBus,
  organization: string,
  items: readonly string[],
  minPosition: number | undefined,
): Promise<readonly string[]> => {
  if (items.length === 0) return items;
  const disputes = items.map((item) => JSON.parse(item) as { readonly content: string });
  const contents = disputes.map(({ content }) => content);
  const verdicts = await queries.execute(new GetVerdicts(contents, organization, minPosition, MAX_LOOKUPS));
  return items.map((item, index) => {
    const { verdict: verdictNow, isComplete } = verdicts[index]!;
    return verdictNow.status === 'BLOCKED' || !isComplete ? item : JSON.stringify({ ...disputes[index], verdictNow });
  });
};
