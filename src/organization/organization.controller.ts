import { Controller, Get, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { Access } from '../http/access/access.js';
import { type Caller, CurrentCaller, Organization } from '../http/access/caller.js';
import { ConsistencyTokens } from '../http/consistency.js';
import { GetOrganization, ListOwnBrands } from './organization.js';
import { OrganizationResponse, OwnBrandsResponse, type RequestLimit } from './organization.dto.js';

/** Reads the request limit from the headers of this response; undefined if requests are not limited. */
const requestLimitOf = (reply: FastifyReply): RequestLimit | undefined => {
  const [perMinute, remaining, resetSeconds] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(reply.getHeader(`ratelimit-${name}`)),
  ) as [number, number, number];
  return Number.isNaN(perMinute) ? undefined : { perMinute, remaining, resetSeconds };
};

@ApiTags('Organization')
@Controller('v2/organization')
export class OrganizationController {
  constructor(
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Get()
  @Access({ scope: 'any', reads: ['brands-and-flags'] })
  @ApiOperation({
    summary: 'Get the organization of the key, its feature flags and its remaining limits',
    description: 'A key of any scope can send this request.',
  })
  @ApiOkResponse({ type: OrganizationResponse, description: 'The key and its organization.' })
  async getOrganization(
    @Organization() slug: string,
    @CurrentCaller() { keyId, name, scopes, expiresAt }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrganizationResponse> {
    const { flags, ingest } = await this.tokens.addTo(reply, await this.queries.execute(new GetOrganization(slug)));
    return {
      slug,
      key: { id: keyId, name, scopes, ...(expiresAt !== undefined && { expiresAt: formatInstant(expiresAt) }) },
      flags,
      limits: { requests: requestLimitOf(reply), ingest },
    };
  }

  @Get('brands')
  @Access({ scope: 'read', reads: ['brands-and-flags'] })
  @ApiOperation({
    summary: 'List the registered brands of the organization',
    description:
      'The `slug` of a brand is the `brandSlug` of metrics queries. Each brand shows whether metrics are available for it.',
  })
  @ApiOkResponse({ type: OwnBrandsResponse, description: 'The registered brands, sorted by slug.' })
  async listBrands(
    @Organization() organization: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OwnBrandsResponse> {
    return this.tokens.addTo(reply, await this.queries.execute(new ListOwnBrands(organization)));
  }
}
