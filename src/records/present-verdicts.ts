import type { QueryBus } from '@nestjs/cqrs';
import { GetVerdicts } from '../verdicts/get-verdicts.js';

/** Adds `verdictNow` to the disputes whose verdict is no longer BLOCKED. @param items as JSON, at most 1,000 */
export const withPresentVerdicts = async (
  queries: QueryBus,
  organization: string,
  items: readonly string[],
  minPosition: number | undefined,
): Promise<readonly string[]> => {
  if (items.length === 0) return items;
  const disputes = items.map((item) => JSON.parse(item) as { readonly content: string });
  const contents = disputes.map(({ content }) => content);
  const verdicts = await queries.execute(new GetVerdicts(contents, organization, minPosition));
  return items.map((item, index) => {
    const verdictNow = verdicts[index]!;
    return verdictNow.status === 'BLOCKED' ? item : JSON.stringify({ ...disputes[index], verdictNow });
  });
};
