import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import { Bag } from '../../flow/bag.js';
import { sendError } from '../errors/error-response.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';

declare module 'fastify' {
  interface FastifyReply {
    /** The index of the reply in its bag of `Revocations`. */
    bagIndex: number;
  }
}

const isRead = ({ access }: FastifyRequest): boolean => access?.scope === 'read' || access?.scope === 'any';

/**
 * Ends the requests of a key that is revoked: a request that waits for new data, for a token or for its turn gets a 401,
 * and the connection of a response that is being streamed is closed. A write whose body has arrived is not ended,
 * because it may have been stored, which a 401 would deny.
 */
export class Revocations {
  /** The replies that are not sent yet. */
  private readonly pending = new Bag<FastifyReply>();
  private readonly streaming = new Bag<FastifyReply>();

  constructor(keys: ApiKeyVerifier) {
    keys.onRevoked((keyId) => {
      for (const { request, raw } of this.streaming) if (request.caller?.keyId === keyId) raw.destroy();
      for (const reply of this.pending) {
        const { request } = reply;
        if (request.caller?.keyId === keyId && (isRead(request) || !request.raw.complete))
          sendError(new Unauthorized(), request, reply);
      }
    });
  }

  /** Called when the key of a request has been verified. */
  add(reply: FastifyReply): void {
    this.pending.add(reply);
  }

  /** Called when the response of a request is sent. */
  sending(reply: FastifyReply, payload: unknown): void {
    if (this.pending.delete(reply) && payload instanceof Readable) this.streaming.add(reply);
  }

  /** Called when a request has ended. */
  remove(reply: FastifyReply): void {
    if (!this.pending.delete(reply)) this.streaming.delete(reply);
  }
}
