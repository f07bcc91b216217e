import { Body, Controller, Delete, Get, Header, Headers, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { NotFound } from '../errors.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { type Origin, RequestOrigin } from '../http/access/origin.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { AssetGroupListDto, AssetGroupNameDto, DeletedAssetGroupDto, NamedAssetGroupDto } from './asset-groups.dto.js';
import { CreateAssetGroup } from './create-asset-group.js';
import { DeleteAssetGroup } from './delete-asset-group.js';
import { ListAssetGroups } from './list-asset-groups.js';
import { RenameAssetGroup } from './rename-asset-group.js';

const failure = (status: number, description: string): MethodDecorator =>
  ApiResponse({ status, description, type: ErrorBody });
const NAME_TAKEN = 'A group with this name already exists';
const NO_SUCH_GROUP = 'The organization has no group of this number.';

const GROUP_ID = {
  name: 'id',
  description: "The group's number.",
  schema: { type: 'integer', minimum: 1 },
  example: 1,
} as const;

/** A group's number as it stands in an address; another text names no group. */
const groupIdOf = (text: string): number => {
  const id = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new NotFound('Asset group not found');
  return id;
};

@Controller('v2/organization/asset-groups')
export class AssetGroupsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Post()
  @HttpCode(201)
  @Access({ scope: 'write' })
  @ApiOperation({ summary: 'Create a group', description: 'It is in the next list, wherever that is asked for.' })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      '1 to 255 printable characters. For 24 hours the same key and body give the first answer again, so that a ' +
      'request can be repeated until it is answered.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  })
  @ApiCreatedResponse({ description: 'Created.', type: NamedAssetGroupDto })
  @failure(409, NAME_TAKEN)
  @failure(413, 'The body is larger than 65,536 bytes.')
  @failure(415, 'The body is not sent as `application/json`.')
  @failure(422, 'The `Idempotency-Key` was used with another body.')
  create(
    @Organization() organization: string,
    @Body() { name }: AssetGroupNameDto,
    @RequestOrigin() origin: Origin,
    @Headers('idempotency-key') idempotencyKey?: string,
  ): Promise<NamedAssetGroupDto> {
    return this.commands.execute(new CreateAssetGroup(organization, name, idempotencyKey, origin));
  }

  @Get()
  @Header('Content-Type', 'application/json; charset=utf-8')
  @Access({ scope: 'read' })
  @ApiOperation({ summary: 'List all groups with their asset counts' })
  @ApiOkResponse({ description: 'All groups of the organization, empty ones included.', type: AssetGroupListDto })
  list(@Organization() organization: string): Promise<Buffer> {
    return this.queries.execute(new ListAssetGroups(organization));
  }

  @Patch(':id')
  @Access({ scope: 'write' })
  @ApiOperation({ summary: 'Rename a group', description: 'The name it had is free at once.' })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'Renamed; to its own name is fine.', type: NamedAssetGroupDto })
  @failure(404, NO_SUCH_GROUP)
  @failure(409, NAME_TAKEN)
  @failure(413, 'The body is larger than 65,536 bytes.')
  @failure(415, 'The body is not sent as `application/json`.')
  rename(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { name }: AssetGroupNameDto,
    @RequestOrigin() origin: Origin,
  ): Promise<NamedAssetGroupDto> {
    return this.commands.execute(new RenameAssetGroup(organization, groupIdOf(id), name, origin));
  }

  @Delete(':id')
  @Access({ scope: 'write' })
  @ApiOperation({ summary: 'Delete a group', description: 'Its assets are in no group then. Needs no body.' })
  @ApiParam(GROUP_ID)
  @ApiOkResponse({ description: 'Deleted.', type: DeletedAssetGroupDto })
  @failure(404, NO_SUCH_GROUP)
  async delete(
    @Organization() organization: string,
    @Param('id') id: string,
    @RequestOrigin() origin: Origin,
  ): Promise<DeletedAssetGroupDto> {
    const deleted = await this.commands.execute(new DeleteAssetGroup(organization, groupIdOf(id), origin));
    return { success: true, ...deleted };
  }
}
