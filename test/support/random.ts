/** A seeded random number generator (mulberry32), so that a failure can be repeated. */
export class Random {
  constructor(private seed: number) {}

  /** Returns a number from 0 to below 1. */
  next(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns an integer from 0 to below `below`. */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)]!;
  }

  /** Returns a shuffled copy in which no element has moved by more than `window` places. */
  shuffled<T>(list: readonly T[], window = list.length): T[] {
    return list
      .map((value, index) => ({ value, at: index + this.next() * window }))
      .sort((a, b) => a.at - b.at)
      .map(({ value }) => value);
  }
}
