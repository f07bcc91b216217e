import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import type { CheckVerdict } from '../events/types/disputes.js';
import { ConcurrencyLimit, type ConcurrencyLimits } from '../flow/concurrency-limit.js';
import { GetVerdicts } from '../verdicts/get-verdicts.js';
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
  execute({ contents, organization, minPosition }: GetVerdicts): Promise<readonly CheckVerdict[]> {
    return this.limit.run(organization, undefined, async () => {
      const { result } = await this.checks.execute(new CheckAssets(contents, organization, minPosition));
      return result.results.map(({ status, source, reason, sources, message }) => ({
        status,
        source,
        reason,
        sources,
        message,
      }));
    });
  }
}
