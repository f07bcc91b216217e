import { Unavailable } from '../../errors.js';
import { TooManyRequests } from '../errors/error-response.js';

const RETRY_AFTER_SECONDS = 1;

/**
 * Bytes of request bodies being received or processed, per key and in total. A key is charged for what it announces,
 * the total for what has arrived: announcing alone keeps nobody else out.
 */
export class BytesInFlight {
  private arrived = 0;
  /** Entries stay: keys are few, and adding and removing them would cost every request. */
  private readonly ofKeys = new Map<string, { bytes: number }>();

  constructor(
    private readonly mostOfKey: number,
    private readonly mostInAll: number,
  ) {}

  /** Bytes that have arrived and are not released. */
  get total(): number {
    return this.arrived;
  }

  /** @throws Unavailable */
  arrive(bytes: number): void {
    this.arrived += this.checked(bytes);
  }

  /**
   * @returns bytes
   * @throws Unavailable if they exceed the total
   */
  checked(bytes: number): number {
    if (this.arrived + bytes > this.mostInAll)
      throw new Unavailable('Too many large bodies at once; try again', RETRY_AFTER_SECONDS);
    return bytes;
  }

  /** @throws TooManyRequests */
  reserve(keyId: string, bytes: number): void {
    let ofKey = this.ofKeys.get(keyId);
    if (ofKey === undefined) this.ofKeys.set(keyId, (ofKey = { bytes: 0 }));
    if (ofKey.bytes + bytes > this.mostOfKey)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `Concurrent request bodies with this key exceed ${this.mostOfKey} bytes; try again`,
      );
    ofKey.bytes += bytes;
  }

  release(keyId: string, reserved: number, arrived: number): void {
    const ofKey = this.ofKeys.get(keyId);
    if (ofKey !== undefined) ofKey.bytes -= reserved;
    this.arrived -= arrived;
  }
}

/** The bytes charged for one request's body, until it is answered. */
export class Share {
  private reserved = 0;
  private arrived = 0;

  constructor(
    private readonly all: BytesInFlight,
    private readonly keyId: string,
  ) {}

  /**
   * Called before anything is read.
   * @throws TooManyRequests, Unavailable
   */
  announce(bytes: number): void {
    this.reserve(this.all.checked(bytes));
  }

  /** @throws TooManyRequests, Unavailable */
  add(bytes: number): void {
    this.reserve(this.arrived + bytes - this.reserved);
    this.all.arrive(bytes);
    this.arrived += bytes;
  }

  release(): void {
    this.all.release(this.keyId, this.reserved, this.arrived);
    this.reserved = this.arrived = 0;
  }

  private reserve(bytes: number): void {
    if (bytes <= 0) return;
    this.all.reserve(this.keyId, bytes);
    this.reserved += bytes;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the body is charged; null until it is read. */
    share: Share | null;
  }
}
