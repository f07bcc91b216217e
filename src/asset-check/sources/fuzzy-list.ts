import { distance } from 'fastest-levenshtein';

/** A host without its top-level domain. */
const formOf = (host: string): string => host.slice(0, Math.max(0, host.lastIndexOf('.')));

/**
 * Hosts that phishers imitate: what is within `tolerance` edits of one of them, top-level domain and a first `www.`
 * apart, is taken for an imitation. The rule of eth-phishing-detect, to the letter.
 */
export class FuzzyList {
  private readonly targets: readonly { readonly host: string; readonly form: string }[];
  private readonly shortest: number;
  private readonly longest: number;

  constructor(
    hosts: readonly string[],
    private readonly tolerance: number,
  ) {
    this.targets = hosts.map((host) => ({ host, form: formOf(host) }));
    const lengths = this.targets.map(({ form }) => form.length);
    this.shortest = Math.min(...lengths) - tolerance;
    this.longest = Math.max(...lengths) + tolerance;
  }

  /** @returns the host of the list that is imitated */
  find(host: string): string | undefined {
    if (this.tolerance <= 0) return undefined;
    const form = formOf(host).replace('www.', '');
    if (form.length < this.shortest || form.length > this.longest) return undefined;
    for (const target of this.targets) {
      // Texts whose lengths differ by more cannot be within the tolerance.
      if (Math.abs(target.form.length - form.length) > this.tolerance) continue;
      if (distance(form, target.form) <= this.tolerance) return target.host;
    }
    return undefined;
  }
}
