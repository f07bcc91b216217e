import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { refusalOfPacked } from './packed-body.js';

type Done = (error: Error | null, body?: unknown) => void;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const CLOUD_EVENTS = ['application/cloudevents+json', 'application/cloudevents-batch+json'];

/** How bodies are read: JSON in strict UTF-8, or the bytes where the route asks for them. Nothing else is taken. */
export const readJsonBodies = (instance: FastifyInstance): void => {
  instance.removeAllContentTypeParsers();
  // `__proto__` and `constructor.prototype` are dropped, so that no copy of the body can change a prototype.
  const parse = instance.getDefaultJsonParser('remove', 'remove');
  const options = { parseAs: 'buffer' } as const;

  instance.addContentTypeParser('application/json', options, (request: FastifyRequest, body: Buffer, done: Done) => {
    if (request.takesRawBody) return done(null, body);
    // Clients send the header with a DELETE that has no body.
    if (body.length === 0 && request.method === 'DELETE') return done(null, undefined);
    const refusal = refusalOfPacked(request.headers);
    if (refusal !== undefined) return done(refusal);
    let text: string;
    try {
      text = utf8.decode(body);
    } catch {
      return done(new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY());
    }
    void parse(request, text, done);
  });
  for (const type of CLOUD_EVENTS)
    instance.addContentTypeParser(type, options, (request: FastifyRequest, body: Buffer, done: Done) =>
      request.takesRawBody ? done(null, body) : done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE()),
    );
};
