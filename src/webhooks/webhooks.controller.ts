import { isIP } from 'node:net';
import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { hostOf, NOT_PUBLIC, NetworkPolicy } from '../egress.js';
import { MAX_URL } from '../events/types/organizations.js';
import { readUrl, Config } from '../runtime/config.js';
import { Invalid } from '../errors.js';
import { KIND_NAMES } from '../events/listed-items.js';
import { Access } from '../http/access/access.js';
import { Organization, type Origin, RequestOrigin } from '../http/access/caller.js';
import { ConsistencyTokens } from '../http/consistency.js';
import { ApiFailure } from '../http/errors/error-body.dto.js';
import { ApiCreation, setCreated } from '../http/responses/created.js';
import { ChangeWebhook, CreateWebhook, DeleteWebhook } from './change-webhook.js';
import { ListWebhooks, showWebhook } from './list-webhooks.js';
import { MAX_WEBHOOKS, type Settings } from './webhook.js';
import {
  NewWebhookDto,
  WebhookChangeDto,
  NO_SUCH_WEBHOOK,
  WEBHOOK_ID,
  CreatedWebhookDto,
  DeletedWebhookDto,
  WebhookDto,
  WebhookListDto,
} from './webhooks.dto.js';

const HTTPS_PORT = 443;
/** The lowest port that needs no privileges. Lower ports belong to other services. */
const FIRST_UNPRIVILEGED_PORT = 1_024;

/** Matches a host name with an empty label, which cannot resolve; `host` is without the dot at its end. */
const EMPTY_LABEL = /^$|^\.|\.\.|\.$/;

/** The `port` of a `URL` is empty if it is the default port of the scheme. */
const hasAllowedPort = ({ port }: URL): boolean =>
  port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_UNPRIVILEGED_PORT;

/**
 * Parses and checks the URL of an endpoint.
 * @returns the normalised URL without its fragment, or an `issue` that reveals nothing about the host's network
 */
export const readAddress = (
  text: unknown,
  policy: NetworkPolicy,
): { readonly url: string; readonly issue?: undefined } | { readonly url?: undefined; readonly issue: string } => {
  if (typeof text !== 'string' || text === '') return { issue: 'url is required' };
  // oxlint-disable-next-line no-control-regex
  const url = text.length > MAX_URL || /[\s\0-\x1f\x7f\\]/.test(text) ? undefined : readUrl(text);
  if (url === undefined)
    return { issue: `url must be a URL of at most ${MAX_URL} characters, such as https://example.com/webhooks` };
  const host = hostOf(url);
  if (EMPTY_LABEL.test(host)) return { issue: 'url: the host name has an empty part between dots' };
  const isHttp =
    url.protocol === 'http:' && policy.allowsNetworks && (isIP(host) === 0 || policy.isAllowedByOperator(host));
  if (url.protocol !== 'https:' && !isHttp) return { issue: 'url must begin with https://' };
  if (url.username !== '' || url.password !== '') return { issue: 'url must not contain a user or password' };
  if (!hasAllowedPort(url))
    return { issue: `url must have port ${HTTPS_PORT}, or a port of ${FIRST_UNPRIVILEGED_PORT} or above` };
  if (!policy.permitsHost(host)) return { issue: `url: ${NOT_PUBLIC}` };
  url.hash = '';
  return url.href.length > MAX_URL ? { issue: `url must be at most ${MAX_URL} characters` } : { url: url.href };
};

const READ_ACCESS = { scope: 'read', reads: ['webhooks'] } as const;

/**
 * Sorts names and removes duplicates, because filters are stored in this form. Null and undefined mean that there is no
 * filter.
 */
const namesOf = (names: readonly string[] | null | undefined): string[] | undefined =>
  names ? [...new Set(names)].sort() : undefined;
const kindsOf = (types: NewWebhookDto['types']): Settings['types'] =>
  types ? KIND_NAMES.filter((kind) => types.includes(kind)) : undefined;

@ApiTags('Webhooks')
@Controller('v2/organization/webhooks')
export class WebhooksController {
  private readonly policy: NetworkPolicy;

  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
    config: Config,
  ) {
    this.policy = new NetworkPolicy(config.webhookAllow);
  }

  @Post()
  @HttpCode(201)
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Create a webhook endpoint',
    description:
      'Sends each change in the feed that passes the filters to `url`, in order, signed as specified by Standard ' +
      'Webhooks. A delivery is retried until the endpoint returns a 2xx status. Deliveries start at the current end of ' +
      'the feed, unless `from` is given.',
  })
  @ApiCreation({
    noun: 'webhook',
    example: '/v2/organization/webhooks/wh_4a7d1ed414474e4033ac29cc',
    repeats: 'key and body returns the first response, without its secret. If the secret was lost, rotate it.',
    response: {
      description: 'The created webhook. The secret is shown only in this response.',
      type: CreatedWebhookDto,
    },
  })
  @ApiFailure(409, `The organization already has ${MAX_WEBHOOKS} webhooks.`)
  async createWebhook(
    @Organization() organization: string,
    @Body() body: NewWebhookDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') idempotencyKey?: string,
  ): Promise<CreatedWebhookDto> {
    const settings: Settings = {
      url: this.urlOf(body.url),
      types: kindsOf(body.types),
      assetTypes: namesOf(body.assetTypes),
      statuses: namesOf(body.statuses),
      batch: body.batch ?? 1,
      description: body.description ?? undefined,
    };
    const create = new CreateWebhook({ organization, settings, from: body.from, idempotencyKey, origin });
    const { webhook, secret } = await this.tokens.addTo(reply, await this.commands.execute(create));
    setCreated(reply, `/v2/organization/webhooks/${webhook.id}`, secret === undefined);
    return { ...webhook, secret };
  }

  @Get()
  @Access(READ_ACCESS)
  @ApiOperation({
    summary: 'List all webhooks with their state',
    description:
      'Webhooks are listed in the order in which they were created. The response includes all earlier changes, on every instance.',
  })
  @ApiOkResponse({ description: 'All webhooks of the organization.', type: WebhookListDto })
  async listWebhooks(
    @Organization() organization: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookListDto> {
    return { webhooks: await this.tokens.addTo(reply, await this.queries.execute(new ListWebhooks({ organization }))) };
  }

  @Get(':id')
  @Access(READ_ACCESS)
  @ApiOperation({
    summary: 'Get one webhook with its state',
    description: 'Shows how many records are still to be sent, the last failure, and when the next retry is due.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'The webhook.', type: WebhookDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async getWebhook(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDto> {
    return this.tokens.addTo(reply, await showWebhook(this.queries, organization, id));
  }

  @Patch(':id')
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Change a webhook',
    description:
      'Absent fields keep their value; null removes a filter or the description. Deliveries that start after the ' +
      'response use the new settings. The cursor does not move: a new filter applies to the changes after the cursor.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'The changed webhook.', type: WebhookDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async changeWebhook(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() body: WebhookChangeDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDto> {
    const { url, types, assetTypes, statuses, batch, description, state } = body;
    const settings: Partial<Settings> = {
      ...(url !== undefined && { url: this.urlOf(url) }),
      ...(types !== undefined && { types: kindsOf(types) }),
      ...(assetTypes !== undefined && { assetTypes: namesOf(assetTypes) }),
      ...(statuses !== undefined && { statuses: namesOf(statuses) }),
      ...(batch !== undefined && { batch }),
      ...(description !== undefined && { description: description ?? undefined }),
    };
    const change = new ChangeWebhook({ organization, webhookId: id, settings, state, origin });
    await this.tokens.addTo(reply, await this.commands.execute(change));
    return (await showWebhook(this.queries, organization, id)).result;
  }

  @Delete(':id')
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Delete a webhook',
    description:
      'After the response, nothing is sent except requests that are already in flight. No request body is needed.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'The webhook is deleted.', type: DeletedWebhookDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async deleteWebhook(
    @Organization() organization: string,
    @Param('id') id: string,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeletedWebhookDto> {
    const remove = new DeleteWebhook({ organization, webhookId: id, origin });
    await this.tokens.addTo(reply, await this.commands.execute(remove));
    return { success: true, id };
  }

  private urlOf(text: unknown): string {
    const { url, issue } = readAddress(text, this.policy);
    if (issue !== undefined) throw new Invalid(issue, [issue]);
    return url;
  }
}
