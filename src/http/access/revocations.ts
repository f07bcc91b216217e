import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import { sendError } from '../errors/error-response.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';

const isRead = ({ access }: FastifyRequest): boolean => access?.scope === 'read' || access?.scope === 'any';

/**
 * Ends the requests of a key that is revoked: a request that waits for new data, for a token or for its turn gets a 401,
 * and the connection of a response that is being streamed is closed. A write whose body has arrived is not ended,
 * because it may have been stored, which a 401 would deny.
 */
export class Revocations {
  /** The requests without a response, with their replies. */
  private readonly pending = new Map<FastifyRequest, FastifyReply>();
  private readonly streaming = new Map<FastifyRequest, FastifyReply>();

  constructor(keys: ApiKeyVerifier) {
    keys.onRevoked((keyId) => {
      for (const [request, reply] of this.streaming) if (request.caller?.keyId === keyId) reply.raw.destroy();
      for (const [request, reply] of this.pending)
        if (request.caller?.keyId === keyId && (isRead(request) || !request.raw.complete))
          sendError(new Unauthorized(), request, reply);
    });
  }

  /** Called when the key of a request has been verified. */
  add(request: FastifyRequest, reply: FastifyReply): void {
    this.pending.set(request, reply);
  }

  /** Called when the response of a request is sent. */
  sending(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    if (this.pending.delete(request) && payload instanceof Readable) this.streaming.set(request, reply);
  }

  /** Called when a request has ended. */
  remove(request: FastifyRequest): void {
    this.pending.delete(request);
    this.streaming.delete(request);
  }
}
