import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import { sendError } from '../errors/error-response.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';

/**
 * Ends the requests of a key that is revoked: a request that waits for new data, for a token or for its turn gets a 401,
 * and the connection of a response that is being streamed is closed. A write whose body has arrived is not ended,
 * because it may have been stored, which a 401 would deny.
 */
export class Revocations {
  /** How to end each request that has not been answered. */
  private readonly requests = new Map<FastifyRequest, () => void>();

  constructor(keys: ApiKeyVerifier) {
    keys.onRevoked((keyId) => {
      for (const [request, end] of this.requests) if (request.caller?.keyId === keyId) end();
    });
  }

  /** Called when the key of a request has been verified. */
  add(request: FastifyRequest, reply: FastifyReply): void {
    this.requests.set(request, () => {
      if (request.access?.scope === 'read' || request.access?.scope === 'any' || !request.raw.complete)
        sendError(new Unauthorized(), request, reply);
    });
  }

  /** Called when the response of a request is sent. */
  sending(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    if (payload instanceof Readable && this.requests.has(request))
      this.requests.set(request, () => void reply.raw.destroy());
    else this.requests.delete(request);
  }

  /** Called when a request has ended. */
  remove(request: FastifyRequest): void {
    this.requests.delete(request);
  }
}
