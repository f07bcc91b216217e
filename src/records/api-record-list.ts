import { applyDecorators } from '@nestjs/common';
import {
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCounted, AS_OF } from '../http/answers/api-counted.js';
import { exampleItem, isFilteredBy, type ListedKind } from '../events/kinds.js';
import { MAX_ROWS } from './export-records.js';
import { headerOf, lineOf } from './records-csv.js';

const MOST = MAX_ROWS.toLocaleString('en');

const capitalized = (kind: ListedKind): string => kind[0]!.toUpperCase() + kind.slice(1);

const brandOf = (kind: ListedKind): string | null => (isFilteredBy(kind, 'brand') ? 'brand' : null);

const ApiTooMany = (): MethodDecorator =>
  ApiUnprocessableEntityResponse({ description: `The table would have more than ${MOST} rows.`, type: ErrorBody });

/**
 * Documents a list of records.
 * @param description what of it the metrics count
 */
export const ApiRecordList = (kind: ListedKind, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `list${capitalized(kind)}s`,
      summary: `The organization’s ${kind}s, newest first, page by page`,
      description:
        `${description} While others write, what does not change is on exactly one page, and nothing is on two; what ` +
        `changes in the meantime may be missing. With \`Accept: text/csv\` the answer is the table of \`${kind}s.csv\`.`,
    }),
    ApiCounted(`${capitalized(kind)}Page`, {}, brandOf(kind)),
    ApiTooMany(),
  );

/** Documents one record. @param id an example of an id */
export const ApiRecord = (kind: ListedKind, id: string, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: `get${capitalized(kind)}`, summary: `One ${kind}`, description }),
    ApiParam({ name: 'id', description: 'As upstream named it.', schema: { type: 'string' }, example: id }),
    ApiCounted(`${capitalized(kind)}Item`, {}, kind),
  );

/** Documents the table of a list. */
export const ApiRecordTable = (kind: ListedKind): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `get${capitalized(kind)}Table`,
      summary: `The organization’s ${kind}s, newest first, as a table`,
      description:
        `RFC 4180, the whole selection from one moment, at most ${MOST} rows, and one table at a time for each ` +
        'organization. A table that breaks off loses its connection; it never ends as if it were whole.',
    }),
    ApiOkResponse({
      description: 'Everything is of one snapshot.',
      headers: { 'X-As-Of': AS_OF },
      content: {
        'text/csv': { schema: { type: 'string' }, example: headerOf(kind) + lineOf(kind, exampleItem(kind)) },
      },
    }),
    ...(brandOf(kind) === null
      ? []
      : [ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })]),
    ApiTooMany(),
  );
