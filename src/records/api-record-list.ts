import { applyDecorators } from '@nestjs/common';
import {
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiSnapshot, AS_OF } from '../http/responses/send-snapshot.js';
import { exampleItem, fieldsOf, isFilteredBy, type ListedKind } from '../events/listed-items.js';
import { MAX_ROWS, headerOf, lineOf } from './export-records.js';

const MAX_ROWS_TEXT = MAX_ROWS.toLocaleString('en');

const capitalized = (kind: ListedKind): string => kind[0]!.toUpperCase() + kind.slice(1);

const brandFilterOf = (kind: ListedKind): string | null => (isFilteredBy(kind, 'brand') ? 'brand' : null);

const ApiTooManyRows = (): MethodDecorator =>
  ApiUnprocessableEntityResponse({
    description: `The table would have more than ${MAX_ROWS_TEXT} rows.`,
    type: ErrorBody,
  });

/**
 * Documents a list of records.
 * @param description a sentence that says which records of the list the metrics count
 */
export const ApiRecordList = (kind: ListedKind, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `list${capitalized(kind)}s`,
      summary: `List the ${kind}s of the organization`,
      description:
        `${description} The records are listed newest first, in pages. A record that does not change while the pages are ` +
        'read is on exactly one page; a record that changes in the meantime is on at most one page, and may be missing. ' +
        `With \`Accept: text/csv\` the response is the table of \`${kind}s.csv\`.`,
    }),
    ApiSnapshot(`${capitalized(kind)}Page`, {}, brandFilterOf(kind)),
    ApiTooManyRows(),
  );

/**
 * Documents a single record.
 * @param id an example of an id
 */
export const ApiRecord = (kind: ListedKind, id: string, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: `get${capitalized(kind)}`, summary: `Get one ${kind}`, description }),
    ApiParam({
      name: 'id',
      description: String(fieldsOf(kind)['id']!['description']),
      schema: { type: 'string', example: id },
    }),
    ApiSnapshot(`${capitalized(kind)}Item`, {}, kind),
  );

/** Documents the CSV export of a list. */
export const ApiRecordTable = (kind: ListedKind): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `get${capitalized(kind)}Table`,
      summary: `Export the ${kind}s of the organization as a table`,
      description:
        `The response is RFC 4180 CSV with all selected records, newest first, at most ${MAX_ROWS_TEXT} rows. Each organization ` +
        'can request one table at a time. If a table cannot be completed, the connection is aborted, so that an ' +
        'incomplete table never looks complete.',
    }),
    ApiOkResponse({
      description: 'All data is from one snapshot.',
      headers: { 'X-As-Of': AS_OF },
      content: {
        'text/csv': { schema: { type: 'string' }, example: headerOf(kind) + lineOf(kind, exampleItem(kind)) },
      },
    }),
    ...(brandFilterOf(kind) === null
      ? []
      : [ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })]),
    ApiTooManyRows(),
  );
