import { TooManyRequests, Unavailable } from '../errors.js';

const RETRY_AFTER_SECONDS = 1;

/** All in bytes. */
export interface ByteLimits {
  /** What holds the bytes, in the plural, as messages to clients name it: `request bodies`. */
  readonly name: string;
  /** Of one organization, or of a key that has none. */
  readonly each: number;
  readonly all: number;
  /** What counts as small. */
  readonly small: number;
  /** The part of `all` that is left to small ones. */
  readonly keptForSmall: number;
}

/**
 * Bytes held in memory, per owner and in total. An owner is charged for what it announces, the total for what has arrived:
 * announcing alone keeps nobody else out. What is larger than a limit is let in alone.
 */
export class ByteBudget {
  private held = 0;
  /** Only owners that hold bytes. */
  private readonly owners = new Map<string, number>();

  constructor(private readonly limits: ByteLimits) {}

  /** Bytes that have arrived and are not released. */
  get total(): number {
    return this.held;
  }

  get isOverHalf(): boolean {
    return this.held > this.limits.all / 2;
  }

  /** @throws TooManyRequests if the owner would exceed its limit */
  reserve(owner: string, bytes: number): void {
    const { each, name } = this.limits;
    const ofOwner = this.owners.get(owner) ?? 0;
    if (ofOwner > 0 && ofOwner + bytes > each)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `Concurrent ${name} of this organization exceed ${each} bytes; try again`,
      );
    this.owners.set(owner, ofOwner + bytes);
  }

  /**
   * @param bytes that are to arrive
   * @param size of all that they are part of
   * @throws Unavailable if they would exceed the total
   */
  check(bytes: number, size: number): void {
    const { all, small, keptForSmall, name } = this.limits;
    if (this.held > 0 && this.held + bytes > (size > small ? all - keptForSmall : all))
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

/** The bytes charged for one request body or one answer, until they are released. */
export class Charge {
  private reserved = 0;
  private arrived = 0;

  constructor(
    private readonly budget: ByteBudget,
    private readonly owner: string,
  ) {}

  /**
   * Called before any of them arrive.
   * @throws TooManyRequests, Unavailable
   */
  announce(bytes: number): void {
    this.budget.check(bytes, bytes);
    this.reserve(bytes);
  }

  /** @throws TooManyRequests, Unavailable */
  add(bytes: number): void {
    const size = this.arrived + bytes;
    this.budget.check(bytes, Math.max(size, this.reserved));
    this.reserve(size - this.reserved);
    this.budget.arrive(bytes);
    this.arrived = size;
  }

  release(): void {
    this.budget.release(this.owner, this.reserved, this.arrived);
    this.reserved = this.arrived = 0;
  }

  private reserve(bytes: number): void {
    if (bytes <= 0) return;
    this.budget.reserve(this.owner, bytes);
    this.reserved += bytes;
  }
}
