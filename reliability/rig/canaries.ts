import type { Target } from './target.js';

/**
 * Words that are found nowhere but in what belongs to an organization, all of one length.
 * @param prefix of lower-case letters
 */
export class Canaries {
  private readonly pattern: RegExp;
  /** How often somebody was seen to see their own. */
  own = 0;

  constructor(private readonly prefix: string) {
    this.pattern = new RegExp(`${prefix}\\d{3}x`, 'gi');
  }

  of(organization: string): string {
    return `${this.prefix}${organization.slice('tenant-'.length).padStart(3, '0')}x`;
  }

  /** What an organization saw that is another's. */
  check(organization: string, text: string, where: string): string[] {
    const seen = [...new Set((text.match(this.pattern) ?? []).map((found) => found.toLowerCase()))];
    if (seen.includes(this.of(organization))) this.own += 1;
    return seen
      .filter((found) => found !== this.of(organization))
      .map((found) => `${organization} saw ${found} in the answer to ${where}`);
  }

  /** What is wrong with all that was seen and logged. */
  checkAfterwards(target: Target): string[] {
    const logged = [...new Set(target.output().match(this.pattern) ?? [])];
    return [
      ...(this.own === 0 ? ['Nobody saw even what is their own'] : []),
      ...(logged.length > 0 ? [`The log names ${logged.length} organizations' own words: ${logged[0]}`] : []),
    ];
  }
}
