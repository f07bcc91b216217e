import type { Target } from './target.js';

/**
 * Canary words. Each occurs only in the data of one organization. All have the same length.
 */
export class Canaries {
  private readonly pattern = /canary\d{3}x/gi;
  /** The number of responses that contained the canary of the organization itself. */
  ownCount = 0;

  canaryOf(organization: string): string {
    return `canary${organization.slice('tenant-'.length).padStart(3, '0')}x`;
  }

  /** Returns a finding for each canary of another organization in a response. */
  check(organization: string, text: string, where: string): string[] {
    const canaries = [...new Set((text.match(this.pattern) ?? []).map((found) => found.toLowerCase()))];
    if (canaries.includes(this.canaryOf(organization))) this.ownCount += 1;
    return canaries
      .filter((found) => found !== this.canaryOf(organization))
      .map((found) => `${organization} saw ${found} in the response to ${where}`);
  }

  /** Returns findings about the whole run: the logs contain canaries, or no organization saw its own canary. */
  checkAfterwards(target: Target): string[] {
    const logged = [...new Set(target.output().match(this.pattern) ?? [])];
    return [
      ...(this.ownCount === 0 ? ['No organization saw its own canary, so the check would find nothing'] : []),
      ...(logged.length > 0 ? [`The log names ${logged.length} canaries, the first: ${logged[0]}`] : []),
    ];
  }
}
