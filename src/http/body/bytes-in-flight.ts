import { Unavailable } from '../../errors.js';
import { TooManyRequests } from '../errors/error-response.js';

const RETRY_AFTER_SECONDS = 1;

/**
 * The bytes of bodies that are being received or worked on, of each key and in all. Of a key those count that are
 * announced, in all those that have arrived: announcing alone keeps nobody else out.
 */
export class BytesInFlight {
  private arrived = 0;
  /** Kept for good: keys are few, and to add and remove them costs every request. */
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
   * @throws Unavailable where there is no room for so much in all
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
        `The bodies sent at once with this key are larger than ${this.mostOfKey} bytes; try again`,
      );
    ofKey.bytes += bytes;
  }

  release(keyId: string, reserved: number, arrived: number): void {
    const ofKey = this.ofKeys.get(keyId);
    if (ofKey !== undefined) ofKey.bytes -= reserved;
    this.arrived -= arrived;
  }
}

/** What the body of one request holds, until it is answered. */
export class Share {
  private reserved = 0;
  private arrived = 0;

  constructor(
    private readonly all: BytesInFlight,
    private readonly keyId: string,
  ) {}

  /**
   * Before anything is read.
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
    /** What the body holds; null until it is read. */
    share: Share | null;
  }
}
