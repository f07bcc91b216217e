import { json, nullable, statement, textOf } from '../../src/postgres/statement.js';
import type { Fact } from '../../src/events/facts.js';
import type { RecordKind } from '../../src/events/record.js';

const STATE = {
  organization: 'text[]',
  kind: 'text[]',
  id: 'text[]',
  version: 'bigint[]',
  eventId: 'uuid[]',
  facts: 'text[]',
  position: 'bigint[]',
  /** For each state, a PostgreSQL array literal in a text, or null. */
  named: 'text[]',
} as const;
const STATES = 'unnest(:organization, :kind, :id, :version, :eventId, :facts, :position, :named)';
const COLUMNS = 'organization, kind, id, version, event_id, counts, position, named';

/**
 * Inserts new records, and returns the stored rows of known records. The column `counts` holds the facts of a record.
 */
export const INSERT_NEW_RECORDS = statement(
  'metrics-enter-records',
  STATE,
  {
    ordinal: 'bigint',
    version: 'bigint',
    eventId: 'uuid',
    facts: json<readonly Fact[]>(),
    position: 'bigint',
    named: nullable('text[]'),
  },
  `
    with given as materialized (
      select i.*, r.version as known_version, r.event_id as known_event_id, r.counts as known_counts,
        r.position as known_position, r.named as known_named
      from ${STATES} with ordinality i (${COLUMNS}, ordinal)
        left join lateral (
          select r.version, r.event_id, r.counts, r.position, r.named from records r
          where r.organization = i.organization and r.kind = i.kind and r.id = i.id limit 1
        ) r on true
    ), entered as (
      insert into records (${COLUMNS})
      select organization, kind, id, version, event_id, counts::json, position, named::text[]
      from given where known_version is null
    )
    select ordinal, known_version as version, known_event_id as "eventId", known_counts as facts,
      known_position as position, known_named as named
    from given where known_version is not null`,
);

export const UPDATE_RECORDS = statement(
  'metrics-update-records',
  STATE,
  `
    update records r set version = i.version, event_id = i.event_id, counts = i.counts::json, position = i.position,
      named = i.named::text[]
    from ${STATES} i (${COLUMNS})
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
);

const RECORD = { organization: 'text[]', kind: 'text[]', id: 'text[]' } as const;

export const READ_FORMER_STATES = statement(
  'metrics-read-former-states',
  RECORD,
  {
    organization: 'text',
    kind: textOf<RecordKind>(),
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    facts: json<readonly Fact[]>(),
    position: 'bigint',
    named: nullable('text[]'),
  },
  `
    select s.organization, s.kind, s.id, s.version, s.event_id as "eventId", s.counts as facts, s.position, s.named
    from unnest(:organization, :kind, :id) i (organization, kind, id)
    join former_states s using (organization, kind, id)
    order by s.position`,
);

export const INSERT_FORMER_STATES = statement(
  'metrics-insert-former-states',
  STATE,
  `
    insert into former_states (${COLUMNS})
    select organization, kind, id, version, event_id, counts::json, position, named::text[]
    from ${STATES} i (${COLUMNS})`,
);

export const DELETE_FORMER_STATES = statement(
  'metrics-delete-former-states',
  RECORD,
  `
    delete from former_states s using unnest(:organization, :kind, :id) i (organization, kind, id)
    where s.organization = i.organization and s.kind = i.kind and s.id = i.id`,
);

const FACT = {
  organization: 'text[]',
  brand: 'text[]',
  at: 'bigint[]',
  measure: 'smallint[]',
  type: 'text[]',
  record: 'text[]',
} as const;
const FACTS = ':organization, :brand, :at, :measure, :type, :record';
const KEY = 'organization, brand, at, measure, type, record';
const IS_FACT = KEY.split(', ')
  .map((column) => `f.${column} = d.${column}`)
  .join(' and ');

/** Moves facts that no longer count to the former facts. Without `until`, the facts never counted, and are deleted. */
export const END_FACTS = statement(
  'metrics-end-facts',
  { ...FACT, until: 'bigint[]' },
  `
    with ended as (
      delete from facts f using unnest(${FACTS}, :until) d (${KEY}, until) where ${IS_FACT}
      returning f.*, d.until
    )
    insert into former_facts (${KEY}, since, until, span)
    select ${KEY}, since, until, length(to_hex(until - since)) from ended where until is not null`,
);

export const INSERT_FACTS = statement(
  'metrics-insert-facts',
  { ...FACT, since: 'bigint[]', lag: 'smallint[]' },
  `
    insert into facts (${KEY}, since, lag)
    select * from unnest(${FACTS}, :since, :lag)`,
);

const FORMER = { ...FACT, since: 'bigint[]', until: 'bigint[]', span: 'smallint[]' } as const;

export const INSERT_FORMER_FACTS = statement(
  'metrics-insert-former-facts',
  FORMER,
  `
    insert into former_facts (${KEY}, since, until, span)
    select * from unnest(${FACTS}, :since, :until, :span)`,
);

export const DELETE_FORMER_FACTS = statement(
  'metrics-delete-former-facts',
  FORMER,
  `
    delete from former_facts f
    using unnest(${FACTS}, :since, :until, :span) d (${KEY}, since, until, span)
    where f.span = d.span and f.since = d.since and ${IS_FACT}`,
);
