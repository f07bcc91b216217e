import type { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  Param,
  Patch,
  Post,
  Res,
  Query,
} from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiConflictResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../http/access/access.js';
import { Organization, type Origin, RequestOrigin } from '../http/access/caller.js';
import { ConsistencyTokens } from '../http/consistency.js';
import { ApiFailure, ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCreation, REPLAYED_HEADER, setCreated } from '../http/responses/created.js';
import {
  AssetGroupListDto,
  AssetGroupNameDto,
  DeletedAssetGroupDto,
  NamedAssetGroupDto,
  ListedAssetGroupDto,
  AssignmentResponse,
  DEFAULT_LIMIT,
  GroupAssetPageDto,
  GroupAssetsRequest,
  MembershipRequest,
  RemovalResponse,
} from './asset-groups.dto.js';
import { CreateAssetGroup, DeleteAssetGroup, RenameAssetGroup } from './group-commands.js';
import { GROUP_ID, groupIdOf, NO_SUCH_GROUP } from './asset-group.js';
import { ListAssetGroups } from './list-asset-groups.js';
import { BULK } from '../http/byte-limits.js';
import { ChangeMembership } from './change-membership.js';
import { GetAssetGroup } from './load-groups.js';
import { ListGroupAssets } from './list-group-assets.js';
import type { MembershipItem, MembershipResult } from './membership.js';

const NAME_TAKEN = 'A group with this name already exists';

@ApiTags('Asset groups')
@Controller('v2/organization/asset-groups')
export class AssetGroupsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Post()
  @HttpCode(201)
  @Access({ scope: 'write' })
  @ApiOperation({ summary: 'Create a group', description: 'Every later list includes the group, on every instance.' })
  @ApiCreation({
    noun: 'group',
    example: '/v2/organization/asset-groups/1',
    repeats: 'key and body returns the first response, so that a request can be retried safely.',
    response: { description: 'The created group.', type: NamedAssetGroupDto },
  })
  @ApiConflictResponse({ description: NAME_TAKEN, type: ErrorBody, headers: REPLAYED_HEADER })
  async createAssetGroup(
    @Organization() organization: string,
    @Body() { name }: AssetGroupNameDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') idempotencyKey?: string,
  ): Promise<NamedAssetGroupDto> {
    const create = new CreateAssetGroup({ organization, name, idempotencyKey, origin });
    const { result, position } = await this.commands.execute(create);
    const { replayed, ...group } = result;
    await this.tokens.add(reply, position);
    setCreated(reply, `/v2/organization/asset-groups/${group.id}`, replayed);
    return group;
  }

  @Get()
  @Header('Content-Type', 'application/json; charset=utf-8')
  @Access({ scope: 'read', reads: ['asset-groups'] })
  @ApiOperation({
    summary: 'List all groups with their asset counts',
    description:
      'Returns all groups at once, ordered by id. The response includes all earlier changes, on every instance.',
  })
  @ApiOkResponse({ description: 'All groups of the organization, including empty groups.', type: AssetGroupListDto })
  async listAssetGroups(
    @Organization() organization: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | Readable> {
    return this.tokens.addTo(reply, await this.queries.execute(new ListAssetGroups(organization)));
  }

  @Patch(':id')
  @Access({ scope: 'write' })
  @ApiOperation({ summary: 'Rename a group', description: 'The previous name can be reused immediately.' })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({
    description: 'The renamed group. Renaming a group to its current name is allowed.',
    type: NamedAssetGroupDto,
  })
  @ApiFailure(404, NO_SUCH_GROUP)
  @ApiFailure(409, NAME_TAKEN)
  async renameAssetGroup(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { name }: AssetGroupNameDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NamedAssetGroupDto> {
    const rename = new RenameAssetGroup({ organization, groupId: groupIdOf(id), name, origin });
    return this.tokens.addTo(reply, await this.commands.execute(rename));
  }

  @Delete(':id')
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Delete a group',
    description: 'The assets of the group are then in no group. No request body is needed.',
  })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'The group is deleted.', type: DeletedAssetGroupDto })
  @ApiFailure(404, NO_SUCH_GROUP)
  async deleteAssetGroup(
    @Organization() organization: string,
    @Param('id') id: string,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeletedAssetGroupDto> {
    const remove = new DeleteAssetGroup({ organization, groupId: groupIdOf(id), origin });
    return this.tokens.addTo(reply, await this.commands.execute(remove));
  }
}

const READ_ACCESS = { scope: 'read', reads: ['asset-groups'] } as const;
const WRITE_ACCESS = { scope: 'write', ...BULK } as const;

const REPEATABLE =
  'The response is sent once every instance lists and counts the change. If the response is 503, or there is no response, ' +
  'repeat the request; changes that are already stored are then `unchanged`.';

@ApiTags('Asset groups')
@Controller('v2/organization/asset-groups/:id')
export class GroupAssetsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Get()
  @Access(READ_ACCESS)
  @ApiOperation({
    summary: 'Get one group with its asset count',
    description: 'The response includes all earlier changes, on every instance.',
  })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'The current state of the group.', type: ListedAssetGroupDto })
  @ApiFailure(404, NO_SUCH_GROUP)
  async getAssetGroup(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListedAssetGroupDto> {
    const get = new GetAssetGroup({ organization, groupId: groupIdOf(id) });
    return this.tokens.addTo(reply, await this.queries.execute(get));
  }

  @Get('assets')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @Access(READ_ACCESS)
  @ApiOperation({
    summary: 'List the assets of a group',
    description:
      'The assets are returned in pages. `nextCursor` works on every instance, and is absent on the last page.',
  })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'A page of the group.', type: GroupAssetPageDto })
  @ApiFailure(404, NO_SUCH_GROUP)
  async listGroupAssets(
    @Organization() organization: string,
    @Param('id') id: string,
    @Query() { limit, cursor }: GroupAssetsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const pageSize = Number(limit ?? DEFAULT_LIMIT);
    const list = new ListGroupAssets({ organization, groupId: groupIdOf(id), limit: pageSize, cursor });
    return this.tokens.addTo(reply, await this.queries.execute(list));
  }

  @Post('assets')
  @HttpCode(200)
  @Access(WRITE_ACCESS)
  @ApiOperation({
    summary: 'Add up to 1,000 assets to a group',
    description: `An asset is in at most one group. An asset that is in another group is moved. ${REPEATABLE}`,
  })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'The result for each content.', type: AssignmentResponse })
  @ApiFailure(404, NO_SUCH_GROUP)
  async assignAssets(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { contents }: MembershipRequest,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AssignmentResponse> {
    const { results, count } = await this.change('add', organization, id, contents, origin, reply);
    return {
      results,
      summary: { added: count('added'), moved: count('moved'), unchanged: count('unchanged'), errored: count('error') },
    };
  }

  @Post('assets/remove')
  @HttpCode(200)
  @Access(WRITE_ACCESS)
  @ApiOperation({
    summary: 'Remove up to 1,000 assets from a group',
    description: `The removed assets are then in no group. An asset that is in another group stays there. ${REPEATABLE}`,
  })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'The result for each content.', type: RemovalResponse })
  @ApiFailure(404, NO_SUCH_GROUP)
  async unassignAssets(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { contents }: MembershipRequest,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RemovalResponse> {
    const { results, count } = await this.change('remove', organization, id, contents, origin, reply);
    return { results, summary: { removed: count('removed'), unchanged: count('unchanged'), errored: count('error') } };
  }

  private async change(
    action: 'add' | 'remove',
    organization: string,
    id: string,
    contents: readonly unknown[],
    origin: Origin,
    reply: FastifyReply,
  ): Promise<{ results: readonly MembershipItem[]; count: (result: MembershipResult) => number }> {
    const command = new ChangeMembership({ action, organization, groupId: groupIdOf(id), contents, origin });
    const results = await this.tokens.addTo(reply, await this.commands.execute(command));
    return { results, count: (result) => results.filter((item) => item.result === result).length };
  }
}
