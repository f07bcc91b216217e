import type { Answer } from './ask.js';

/** How often requests were answered with each status; 0: cut off. */
export class Statuses {
  private readonly times = new Map<number, number>();
  private withoutRetryAfter = 0;

  /** @param headers of which `Retry-After` is looked at, where they are known */
  note(status: number, headers?: Answer['headers']): void {
    this.times.set(status, this.of(status) + 1);
    const isToBeRepeated = status === 429 || status === 503;
    if (isToBeRepeated && headers && !(Number(headers['retry-after']) > 0)) this.withoutRetryAfter += 1;
  }

  of(status: number): number {
    return this.times.get(status) ?? 0;
  }

  /** What should not have been: other statuses than these, and refusals that do not say when to try again. */
  check(...expected: readonly number[]): string[] {
    const others = [...this.times].filter(([status]) => !expected.includes(status));
    return [
      ...others.map(([status, n]) => `${n} requests were ${status === 0 ? 'cut off' : `answered ${status}`}`),
      ...(this.withoutRetryAfter > 0 ? [`${this.withoutRetryAfter} answers 429 and 503 have no Retry-After`] : []),
    ];
  }

  toString(): string {
    const sorted = [...this.times].sort(([one], [other]) => one - other);
    return sorted.map(([status, n]) => `${n} × ${status || 'cut off'}`).join(', ');
  }
}
