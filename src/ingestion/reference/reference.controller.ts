import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFound } from '../../errors.js';
import { bundledSchema, schemaDocuments } from '../../events/cloud-event-schema.js';
import { feedDocuments } from '../../events/feed-schema.js';
import { schemaPath } from '../../events/declaring/declaration.js';
import { createStaticResponse, sendStaticResponse } from '../../http/reference/static-response.js';
import { singleFlight } from '../../flow/shared-work.js';
import { asyncApi } from './events.reference.js';

const DOCUMENTS = schemaDocuments();

const FEED = feedDocuments();
const BUNDLED = 'CloudEvent.bundled';

/** Lists the event types, each with the URL of its schema, which `dataschema` may contain. */
const listing = () => ({
  cloudEvent: schemaPath('CloudEvent'),
  bundled: schemaPath(BUNDLED),
  types: [...DOCUMENTS]
    .filter(([name]) => name !== 'CloudEvent')
    .map(([type, { description, $id }]) => ({ type, description, dataschema: $id })),
  feed: [...FEED].map(([name, { description }]) => ({ name, description, schema: schemaPath(name) })),
});

const cachedResponse = (type: string, content: () => object) =>
  singleFlight(() => createStaticResponse(type, JSON.stringify(content())), Infinity);

const JSON_TYPE = 'application/json; charset=utf-8';
const SCHEMA_TYPE = 'application/schema+json';

/** Serves the schemas of the events, publicly and from memory. */
@ApiExcludeController()
@Controller()
export class ReferenceController {
  private readonly list = cachedResponse(JSON_TYPE, listing);
  private readonly asyncApi = cachedResponse(JSON_TYPE, asyncApi);
  private readonly schemas = new Map(
    [...DOCUMENTS, ...FEED, [BUNDLED, bundledSchema()] as const].map(([name, schema]) => [
      `${name}.json`,
      cachedResponse(SCHEMA_TYPE, () => schema),
    ]),
  );

  @Get('schemas')
  async listSchemas(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendStaticResponse(await this.list(), request, reply);
  }

  /** @throws NotFound */
  @Get('schemas/:file')
  async getSchema(
    @Param('file') file: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const schema = this.schemas.get(file);
    if (schema === undefined) throw new NotFound('Unknown schema; GET /schemas lists all');
    sendStaticResponse(await schema(), request, reply);
  }

  @Get('asyncapi.json')
  async getAsyncApi(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendStaticResponse(await this.asyncApi(), request, reply);
  }
}
