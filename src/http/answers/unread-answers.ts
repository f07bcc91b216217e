import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ByteBudget, Charge } from '../../flow/byte-budget.js';
import { ownerOf } from '../access/caller.js';
import { clientOf } from '../access/client-address.js';
import { ANSWERS } from '../byte-limits.js';

/** Bytes. Smaller answers are not charged: a connection has at most 16 of them (`pipelined-requests.ts`). */
const CHARGED_FROM = 1024;
/** What a stream holds at once, as long as its pieces are no larger. Bytes. */
const OF_STREAM = 128 * 1024;

const isStream = (payload: unknown): boolean => typeof (payload as { pipe?: unknown } | null)?.pipe === 'function';

/**
 * Charges each answer to its organization, or without one to its key or address, until the operating system has taken
 * all of it, so that what clients read slowly holds a bounded part of memory. A route has nothing to do for it; one with
 * answers of megabytes returns a stream, which holds a few pieces only.
 */
export class UnreadAnswers {
  private readonly waiting = new WeakMap<Socket, Set<Charge>>();

  constructor(private readonly budget = new ByteBudget(ANSWERS)) {}

  get isOverHalf(): boolean {
    return this.budget.isOverHalf;
  }

  /**
   * @param isShared whether these bytes are kept for all who ask
   * @returns what to send: text as bytes, so that they are what is held
   * @throws TooManyRequests, Unavailable if too much waits already
   */
  charge(request: FastifyRequest, { raw }: FastifyReply, payload: unknown, isShared = false): unknown {
    const { socket } = request.raw;
    const sent = typeof payload === 'string' && payload.length >= CHARGED_FROM ? Buffer.from(payload) : payload;
    const bytes = isStream(sent) ? OF_STREAM : Buffer.isBuffer(sent) ? sent.length : 0;
    if (bytes < CHARGED_FROM || isShared || socket.destroyed) return sent;
    const charge = new Charge(this.budget, request.caller === null ? clientOf(request.ip) : ownerOf(request.caller));
    charge.add(bytes);
    const charges = this.chargesOf(socket).add(charge);
    raw.once('close', () => {
      charges.delete(charge);
      charge.release();
    });
    return sent;
  }

  /** Node closes no answer that waits behind another when their connection ends. */
  private chargesOf(socket: Socket): Set<Charge> {
    const known = this.waiting.get(socket);
    if (known !== undefined) return known;
    const charges = new Set<Charge>();
    this.waiting.set(socket, charges);
    socket.once('close', () => charges.forEach((charge) => charge.release()));
    return charges;
  }
}
