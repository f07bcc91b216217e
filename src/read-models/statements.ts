import { CLOCK } from '../postgres/statements.js';
import { statement } from '../postgres/statement.js';

/**
 * The checkpoint of each projection. The rows that the projection has written include everything that was acknowledged
 * before `asOf` (ms, by the database's clock).
 */
export const READ_CHECKPOINTS = statement(
  'checkpoints-read',
  {},
  { projection: 'text', position: 'bigint', asOf: 'bigint' },
  'select projection, position, as_of as "asOf" from read.checkpoints',
);

/** Requests a test from the delivery process, and deletes expired tests. */
export const ADD_WEBHOOK_TEST = statement(
  'webhook-tests-add',
  { id: 'uuid', organization: 'text', webhookId: 'text', keptMs: 'bigint' },
  {},
  `
    with forgotten as (delete from service.webhook_tests where requested_at < ${CLOCK} - $4::bigint)
    insert into service.webhook_tests (id, organization, endpoint, requested_at) values ($1, $2, $3, ${CLOCK})`,
);

export const DELETE_WEBHOOK_TEST = statement(
  'webhook-tests-delete',
  { id: 'uuid' },
  {},
  `delete from service.webhook_tests where id = $1`,
);
