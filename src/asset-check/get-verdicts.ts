import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ConcurrencyLimit, type ConcurrencyLimits } from '../flow/concurrency-limit.js';
import { GetVerdicts, type PresentVerdict } from '../verdicts/get-verdicts.js';
import type { CheckOptions } from './asset-checker.js';
import { CheckAssets, CheckAssetsHandler } from './check-assets.js';

/** The limit for verdicts of disputes. A page of disputes is checked like a bulk check. */
const VERDICTS: ConcurrencyLimits = {
  name: 'verdicts of disputes',
  maxRunning: 2,
  maxWaiting: 12,
  waitTimeoutMs: 5_000,
  cooldownMs: 0,
};

@QueryHandler(GetVerdicts)
export class GetVerdictsHandler implements IQueryHandler<GetVerdicts> {
  private readonly limit = new ConcurrencyLimit(VERDICTS);

  constructor(private readonly checks: CheckAssetsHandler) {}

  /**
   * @throws TooManyRequests if too many verdicts of the organization are waiting
   * @throws Unavailable if this service's own statuses do not include `minPosition` yet
   */
  execute(query: GetVerdicts): Promise<readonly PresentVerdict[]> {
    const { contents, organization, minPosition, maxLookups } = query;
    return this.limit.run(organization, undefined, async () => {
      const lookups = maxLookups === undefined ? undefined : { left: maxLookups };
      const decided: Omit<PresentVerdict, 'verdict'>[] = contents.map(() => ({ asset: undefined, isComplete: false }));
      const optionsOf = (index: number): CheckOptions => ({
        lookups,
        onVerdict: (asset, isComplete) => {
          decided[index] = { asset, isComplete };
        },
      });
      const { results } = await this.checks.check(new CheckAssets(contents, organization, minPosition), optionsOf);
      return results.map(({ status, source, reason, sources, message }, index) => ({
        verdict: { status, source, reason, sources, message },
        ...decided[index]!,
      }));
    });
  }
}
