import { TooManyRequests, Unavailable } from '../errors.js';
import { limit } from '../limits.js';

const RETRY_AFTER_SECONDS = 1;

/** All limits are in bytes. */
export interface ByteLimits {
  /** The kind of item, in the plural, as error messages name it: `request bodies`. */
  readonly name: string;
  /** The limit of one organization, or of a key without an organization. */
  readonly perOwner: number;
  readonly total: number;
  /** Items up to this size count as small. */
  readonly smallSize: number;
  /** The part of `total` that only small items may use. */
  readonly reservedForSmall: number;
}

/** Declares the limits of a kind of item, for the pages of limits. */
export const declareBytes = (limits: ByteLimits): ByteLimits => {
  const { name, perOwner, total, smallSize, reservedForSmall } = limits;
  limit(name, perOwner, 'bytes', 'organization', '429');
  limit(name, total, 'bytes', 'process', '503');
  limit(`${name} of more than ${smallSize / 1_024} KiB`, total - reservedForSmall, 'bytes', 'process', '503');
  return limits;
};

/**
 * Limits the bytes held in memory, per owner and in total. An owner is charged for the announced bytes, the total only
 * for the bytes that have arrived, so that an announcement alone does not exclude other owners. An item that exceeds a
 * limit is accepted if no other item is held.
 */
export class ByteBudget {
  private held = 0;
  /** Only owners that hold bytes. */
  private readonly owners = new Map<string, number>();

  constructor(private readonly limits: ByteLimits) {}

  /** Bytes that have arrived and have not been released. */
  get total(): number {
    return this.held;
  }

  get isOverHalf(): boolean {
    return this.held > this.limits.total / 2;
  }

  /** @throws TooManyRequests if the owner would exceed its limit */
  reserve(owner: string, bytes: number): void {
    const { perOwner, name } = this.limits;
    const ofOwner = this.owners.get(owner) ?? 0;
    if (ofOwner > 0 && ofOwner + bytes > perOwner)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `Concurrent ${name} of this organization exceed ${perOwner} bytes; try again`,
      );
    this.owners.set(owner, ofOwner + bytes);
  }

  /**
   * @param bytes number of bytes that are about to arrive
   * @param size size of the whole item that the bytes belong to
   * @throws Unavailable if the bytes would exceed the total
   */
  check(bytes: number, size: number): void {
    const { total, smallSize, reservedForSmall, name } = this.limits;
    if (this.held > 0 && this.held + bytes > (size > smallSize ? total - reservedForSmall : total))
      throw new Unavailable(`Too many large ${name} at once; try again`, RETRY_AFTER_SECONDS);
  }

  arrive(bytes: number): void {
    this.held += bytes;
  }

  release(owner: string, reserved: number, arrived: number): void {
    const left = (this.owners.get(owner) ?? 0) - reserved;
    if (left > 0) this.owners.set(owner, left);
    else this.owners.delete(owner);
    this.held -= arrived;
  }
}

/** The bytes charged for one request body or one response, until they are released. */
export class Charge {
  private reserved = 0;
  private arrived = 0;
  private isReleased = false;

  constructor(
    private readonly budget: ByteBudget,
    private readonly owner: string,
  ) {}

  /**
   * Reserves bytes before they arrive.
   * @throws TooManyRequests, Unavailable, Error after the release
   */
  announce(bytes: number): void {
    this.requireUnreleased();
    this.budget.check(bytes, bytes);
    this.reserve(bytes);
  }

  /** @throws TooManyRequests, Unavailable, Error after the release */
  add(bytes: number): void {
    this.requireUnreleased();
    const size = this.arrived + bytes;
    this.budget.check(bytes, Math.max(size, this.reserved));
    this.reserve(size - this.reserved);
    this.budget.arrive(bytes);
    this.arrived = size;
  }

  /** Ends the charge. The rest of a body may arrive after its response, and nobody would release what it adds. */
  release(): void {
    this.isReleased = true;
    this.budget.release(this.owner, this.reserved, this.arrived);
    this.reserved = this.arrived = 0;
  }

  private requireUnreleased(): void {
    if (this.isReleased) throw new Error('The charge has been released');
  }

  private reserve(bytes: number): void {
    if (bytes <= 0) return;
    this.budget.reserve(this.owner, bytes);
    this.reserved += bytes;
  }
}

const WINDOW_MS = 60_000;

/** The remaining requests of a key in the current minute. */
interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetSeconds: number;
  readonly exceeded: boolean;
}

interface Counts {
  get(key: string): number | undefined;
  set(key: string, count: number): unknown;
  clear(): void;
}

/**
 * Limits requests with a fixed window of one minute per key, in this process. The windows of all keys end at the same
 * time, so that one sweep clears all counters. Across the end of a window, a key can therefore send up to twice the
 * limit.
 */
export class RateLimit {
  private windowEnds = 0;

  /**
   * @param limit requests per key and minute; 0 means no limit
   * @param used the counters; bounded if clients can invent keys
   */
  constructor(
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
    private readonly used: Counts = new Map<string, number>(),
  ) {}

  /** Counts one request of a key. Returns undefined if there is no limit. */
  take(keyId: string): Allowance | undefined {
    if (this.limit === 0) return undefined;
    const now = this.now();
    if (now >= this.windowEnds) {
      this.used.clear();
      this.windowEnds = now + WINDOW_MS;
    }
    const used = (this.used.get(keyId) ?? 0) + 1;
    this.used.set(keyId, used);
    return {
      limit: this.limit,
      remaining: Math.max(0, this.limit - used),
      resetSeconds: Math.ceil((this.windowEnds - now) / 1000),
      exceeded: used > this.limit,
    };
  }
}
