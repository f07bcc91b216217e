import type { FastifyReply, FastifyRequest } from 'fastify';
import { ByteBudget, Charge } from '../../flow/budgets.js';
import { ownerOf, strangerOf } from '../access/caller.js';
import { RESPONSES } from '../byte-limits.js';

/** Smaller responses, in bytes, are not charged: a connection has at most 16 of them (`connections.ts`). */
const MIN_CHARGED_BYTES = 1024;
/** The bytes charged for a stream, whose chunks must not be larger. */
const STREAM_BYTES = 128 * 1024;

const isStream = (payload: unknown): boolean => typeof (payload as { pipe?: unknown } | null)?.pipe === 'function';

/** Returns who is charged. Strangers who share a key must not use up the bytes of one another. */
const readerOf = ({ caller, access, ip }: FastifyRequest): string =>
  caller === null || access?.hasPublishedKeys === true ? strangerOf(caller, ip) : ownerOf(caller);

/**
 * Charges the bytes of each response to the organization, the key or the address of the client (`readerOf`) until the operating
 * system has taken the whole response. The memory for clients that read slowly is therefore bounded. Routes with
 * responses of megabytes return a stream, which holds only a few chunks in memory.
 */
export class UnreadResponses {
  /** The charges of buffers that several clients read at once. */
  private readonly shared = new WeakMap<Buffer, { readonly charge: Charge; readers: number }>();

  constructor(private readonly budget = new ByteBudget(RESPONSES)) {}

  get isOverHalf(): boolean {
    return this.budget.isOverHalf;
  }

  /**
   * @param isShared whether the bytes stay in memory for all clients anyway, and are therefore not charged
   * @returns the payload to send; text is converted to bytes, so that the charged bytes are the bytes in memory
   * @throws TooManyRequests, Unavailable if too many bytes are unread already
   */
  charge(request: FastifyRequest, { raw }: FastifyReply, payload: unknown, isShared = false): unknown {
    const { socket } = request.raw;
    const outgoing =
      typeof payload === 'string' && payload.length >= MIN_CHARGED_BYTES ? Buffer.from(payload) : payload;
    const bytes = isStream(outgoing) ? STREAM_BYTES : Buffer.isBuffer(outgoing) ? outgoing.length : 0;
    if (bytes < MIN_CHARGED_BYTES || isShared || socket.destroyed) return outgoing;
    const charge = new Charge(this.budget, readerOf(request));
    if (request.access?.sharesBuffers === true && Buffer.isBuffer(outgoing)) {
      this.chargeOnce(outgoing, charge, raw);
      return outgoing;
    }
    charge.add(bytes);
    raw.once('close', () => charge.release());
    return outgoing;
  }

  /** The first of the clients that read a buffer at once is charged until the last of them has read it. */
  private chargeOnce(buffer: Buffer, charge: Charge, raw: FastifyReply['raw']): void {
    const held = this.shared.get(buffer) ?? { charge, readers: 0 };
    if (held.readers === 0) charge.add(buffer.length);
    this.shared.set(buffer, held);
    held.readers += 1;
    raw.once('close', () => {
      held.readers -= 1;
      if (held.readers > 0) return;
      held.charge.release();
      this.shared.delete(buffer);
    });
  }
}
