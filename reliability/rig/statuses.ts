import type { HttpResponse } from './http-request.js';

/** Counts responses by status. The status 0 means that the connection was closed without a response. */
export class Statuses {
  private readonly times = new Map<number, number>();
  private withoutRetryAfter = 0;

  /** Counts a response. @param headers if given, the `Retry-After` of a 429 or 503 is checked */
  add(status: number, headers?: HttpResponse['headers']): void {
    this.times.set(status, this.countOf(status) + 1);
    const isRetryable = status === 429 || status === 503;
    if (isRetryable && headers && !(Number(headers['retry-after']) > 0)) this.withoutRetryAfter += 1;
  }

  countOf(status: number): number {
    return this.times.get(status) ?? 0;
  }

  /** Returns findings: unexpected statuses, and 429 or 503 without `Retry-After`. */
  check(...expected: readonly number[]): string[] {
    const others = [...this.times].filter(([status]) => !expected.includes(status));
    return [
      ...others.map(([status, n]) => `${n} requests were ${status === 0 ? 'disconnected' : `got ${status}`}`),
      ...(this.withoutRetryAfter > 0
        ? [`${this.withoutRetryAfter} responses with 429 or 503 have no Retry-After`]
        : []),
    ];
  }

  toString(): string {
    const sorted = [...this.times].sort(([one], [other]) => one - other);
    return sorted.map(([status, n]) => `${n} × ${status || 'disconnected'}`).join(', ');
  }
}
