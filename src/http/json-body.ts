import { UnsupportedMediaTypeException } from '@nestjs/common';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';

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
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
      return done(new UnsupportedMediaTypeException('Send the body without Content-Encoding'));
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
