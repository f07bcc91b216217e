import { createHash } from 'node:crypto';
import { ROW_STEPS } from '../../../src/read-models/erasures.js';
import { countUpTo, FEWEST_BRANCHES, listPage, SAMPLE_FILTERS } from '../../../src/records/page-sql.js';

/** More rows than any table has. New rows are numbered from here on. */
export const MAX_ROWS = 30_000;

/** Returns the elements of a batch: calls `element` with the number of each row. */
export type Batch = (element: (i: number) => unknown) => unknown[];
type Values = (batch: Batch, n: number) => readonly unknown[];

const id = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
export const hash = (i: number): string => String(i).padStart(32, '0');
const key = (prefix: string) => (i: number) => `${prefix}${i}`;
const number = (i: number): number => i;
/** The UUID that `tables` gives the record with this id. */
const recordUuid = (prefix: string) => (i: number) => createHash('md5').update(`${prefix}${i}`).digest('hex');
/** Returns the columns of a batch. Each is a function of the row number, or a constant value. */
const columns = (
  batch: Batch,
  ...values: readonly (((i: number) => unknown) | string | number | boolean | null)[]
): unknown[][] => values.map((value) => batch(typeof value === 'function' ? value : () => value));
const AT = 1_790_000_000_000;
const DAY = 20_000;
const RANGE = [0, DAY, 0, -1, 1, AT];
const owned = ['acme', ''];

/** Returns statements that store `n` rows in each table. The rows match the values below; there are few projections. */
export const tables = (n: number): string => {
  const rows = `from generate_series(1, ${n}) i`;
  const uuid = `('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid`;
  const hashed = `lpad(i::text, 32, '0')`;
  return `
    insert into read.checkpoints (projection, log_id, position, as_of)
      select 'p' || i, 'log', 0, 0 from generate_series(1, 10) i;
    insert into read.checkpoints (projection, log_id, position, as_of)
      select name, 'log', ${n}, 0 from unnest(array['metrics', 'takedowns', 'asset-groups', 'asset-statuses', 'register']) name;
    insert into read.projector_leases (lane, owner, epoch, expires_at) values ('counts', 'me', 1, 0);
    insert into read.register
      select md5('r' || i)::uuid, 'acme', 2, 'r' || i, 2, ${uuid}, i, null, i, i, i, true, i, 'BLOCKED', 'URL', ${uuid}, 'x' ${rows};
    insert into read.register
      select md5('c' || i)::uuid, 'acme', 4, 'c' || i, 2, ${uuid}, i, null, i, i, i, true, i, 'BLOCKED', 'URL', ${uuid}, 'x' ${rows};
    insert into read.register_brands
      select md5('r' || i)::uuid, 'acme', 2, 'r' || i, brand, i, 'BLOCKED', 'URL', ${uuid}
      from generate_series(1, ${n}) i, unnest(array['shoes', 'b' || lpad(i::text, 6, '0')]) brand;
    insert into read.entries select 'c' || i, 2, ${uuid}, array['acme'], null, null, null, '{"before":null,"changes":[]}' ${rows};
    insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
      select 'p' || (i % 10), ${uuid}, i, 's', i, 'T', '{}', '{}', '', 0 ${rows};
    insert into read.records select 'acme', 'threat', 'r' || i, 2, ${uuid}, '[]', i ${rows};
    insert into read.former_states select 'acme', 'threat', 'r' || i, 0, 1, ${uuid}, '[]', '{}' ${rows};
    insert into read.facts select 'acme', '', ${AT} + i, 2, 'URL', 'r' || i, i, i % 2 ${rows};
    insert into read.former_facts select 'acme', '', ${AT} + i, 2, 'URL', 'f' || i, i, i + 1, 1 ${rows};
    insert into read.log_clock select i, ${AT} + i ${rows};
    insert into read.days select 'acme', '', 2, i, 5 ${rows};
    insert into read.days select 'acme', '', 1, i, 5 ${rows};
    insert into read.type_days select 'acme', '', i, 'URL', 5 ${rows};
    insert into read.takedowns (organization, id, version, event_id, brand, type, outcome, created_at, updated_at)
      select 'acme', 't' || i, 2, ${uuid}, 'shoes', 'URL', i % 4, i, 2 * i ${rows};
    insert into read.disputes (organization, id, asset, created_at, request_key_hash, revision, filed)
      select 'acme', 'd' || i, ${uuid}, i, ${hashed}, i, '{}' ${rows};
    insert into read.changed_threats select 'acme', 'r' || i, i * 86400000::bigint, 'URL', i * 86400000::bigint, 'PAGE' ${rows};
    insert into read.changed_threat_days select 'acme', i, 'URL', 5, 1 ${rows};
    insert into service.dispute_contacts select 'acme', 'd' || i, 'a@b.example', i ${rows};
    insert into read.brands select 'acme', 'b' || i, 'B', true, 2, ${uuid} ${rows};
    insert into read.feature_flags select 'acme', 'f' || i, true, 2, ${uuid} ${rows};
    insert into read.asset_status_entries
      select 'c' || i, ${hashed}, 'URL:' || i, 'BLOCKED', 2, ${uuid}, array['acme:shoes'] ${rows};
    insert into read.asset_statuses select ${hashed}, 'URL:' || i, 'BLOCKED', 1, i ${rows};
    insert into read.asset_group_streams select 'o' || i, 5, 5, ${AT} ${rows};
    insert into read.asset_group_streams values ('acme', ${n}, ${n}, ${AT});
    insert into read.asset_groups select 'acme', i, 'g' || i, i ${rows};
    insert into read.asset_group_requests select 'acme', ${hashed}, 'b', i, ${AT}, i ${rows};
    insert into read.asset_group_requests select 'o' || i, ${hashed}, 'b', i, 0, i ${rows};
    insert into read.grouped_assets select 'acme', ${hashed}, 1 + i % 50, 2, ${uuid}, 'URL', i || '.example' ${rows};
    insert into read.asset_group_counts select 'acme', g, ${n} from generate_series(1, 50) g;
    insert into read.webhook_endpoints
      select 'acme', 'w' || i, 'ACTIVE', i, ${hashed}, i, jsonb_build_object('organization', 'acme', 'webhookId', 'w' || i,
        'url', 'https://acme.example', 'types', '["threat"]'::json, 'assetTypes', '["URL"]'::json, 'batch', 1,
        'generation', 1, 'masterKey', 'k', 'startAfter', -1, 'startLog', 'log', 'replay', 0, 'createdAt', i) ${rows};
    insert into service.webhook_progress
      select 'w' || i, '{"replay":0,"logId":"log","position":0,"failingSince":null}' ${rows};
    insert into service.webhook_attempts select 'w1', i, '{"at":0,"deliveryId":"m","records":1,"ms":1}' ${rows};
    insert into service.webhook_tests (id, organization, endpoint, requested_at) select ${uuid}, 'acme', 'w1', i ${rows};
    insert into service.ingest_usage select 1, 'o' || i, 1, 1 ${rows};
    insert into service.key_uses select 'k' || i, 1 ${rows};
    insert into service.event_usage select 'acme', i, 'T', 'accepted', 1 ${rows};
    insert into service.event_usage select 'o' || i, 1, 'T', 'accepted', 1 ${rows};
    insert into service.rejections select 'acme', i, 'k', 'data', 'T', 1, 1, '{}' ${rows};
    insert into service.rejections select 'o' || i, 1, 'k', 'data', 'T', 1, 1, '{}' ${rows};
    update read.parked_events set organization = 'acme', key_id = 'k';
    insert into log.events select i, 's' || i % 10, i / 10, ${uuid}, 'T', '{}', '{}', 1 ${rows}`;
};

const group = (b: Batch): unknown[] => columns(b, 'acme', number, key('g'), (i) => i + 1);
/** What counted at position 10, of a range that begins before the facts and ends with the 20th of them. */
const PAST = [10, '{1}', '{0}', `{${AT + 20}}`, AT, 0, AT + 20];
const record = (b: Batch): unknown[] => columns(b, 'acme', 'threat', key('r'), 4, id, '[]', number, '{}');
const fact = (b: Batch): unknown[] => columns(b, 'acme', '', (i) => AT + i, 2, 'URL', key('r'));
const newFact = (b: Batch): unknown[] => fact((element) => b((i) => element(i + MAX_ROWS)));

/** The values of list statements: for each sample filter, of an organization and of a brand. */
const lists = (): Record<string, Values> => {
  const all: Record<string, Values> = {};
  for (const filter of SAMPLE_FILTERS)
    for (const brand of [undefined, 'shoes']) {
      const selection = { organization: 'acme', kind: 2, range: { from: -1, to: AT }, ...filter, brand };
      const page = (limit: number, upTo: number | null) => ({ after: [-AT, ''], upTo, limit }) as const;
      const { name } = listPage(selection, page(1, null), FEWEST_BRANCHES);
      all[name!] = (_, n) => listPage(selection, page(n, null), FEWEST_BRANCHES).values!;
      all[name!.replace('list', 'next')] = (_, n) => listPage(selection, page(n, n), FEWEST_BRANCHES).values!;
      all[name!.replace('list', 'count')] = (_, n) => countUpTo(selection, page(n, null), FEWEST_BRANCHES).values!;
    }
  return all;
};
/** Pages of the collections of TAXII. */
const objects: Record<string, Values> = {
  'taxii-next': (_, n) => ['acme', 2, -1, 0, Math.min(n, 1_000), null, null],
  'taxii-next-versions': (b) => ['acme', 2, -1, 0, 100, null, b(number)],
  'taxii-next-ids': (b) => ['acme', 2, -1, 0, 100, b(recordUuid('r')), null],
};

const erasures: Record<string, Values> = Object.fromEntries(
  ROW_STEPS.flatMap(({ count, erase }): [string, Values][] => [
    [count.name, () => ['acme', ['k1']]],
    [erase.name, (_, n) => ['acme', n]],
  ]),
);

/** The values of every statement, by its name. */
export const VALUES: Readonly<Record<string, Values>> = {
  'log-read-all': (_, n) => [0, n],
  ...lists(),
  'feed-next': (_, n) => ['acme', -1, n, [1, 2, 3, 4, 5]],
  ...objects,
  ...erasures,
  'statistics-tables': () => [],
  'statistics-columns': () => ['read.checkpoints'],
  'erasures-enter-names': (b) => [b(key('d')), 'log'],
  'erasures-endpoints': () => ['acme'],
  'erasures-enter': () => ['d', 1, 1],
  'erasures-read-names': () => ['log'],
  'erasures-read': () => ['d'],
  'erasures-record-batch': () => ['d', 1, '{}', '{}', null, null],
  'erasures-delete': () => ['d'],
  'erasures-lock-checkpoints': () => [],
  'erasures-count-checkpoints': () => [1],
  'erasures-shadow-schemas': () => [],
  'erasure-names': () => ['acme'],
  'erasure-refuse': (b) => [b(key('d')), 'log'],
  'erasure-count-events': (_, n) => ['acme', 0, n],
  'erasure-rewrite-events': (_, n) => ['acme', 0, n],
  'erasure-operations-length': () => [],
  'erasure-rewrite-reasons': (_, n) => [0, Math.min(n, 1_000)],
  'erasure-read-certificate': () => ['d'],
  'feed-ready-requests': (b) => columns(b, 'acme', '1,2', number),
  'records-find': () => ['acme', id(1)],
  'records-last-change': () => ['acme', 2, number],
  'records-fill': () => ['0037-register'],
  'log-read-places': (b) => columns(b, number),
  'log-read-next': (_, n) => [-1, n],
  'log-read-stream': (_, n) => ['s1', 0, n],
  'log-find': (b) => [b(id)],
  'log-head': () => [],
  'log-await-appends': () => [],
  'ingestion-event-states': (b) => columns(b, id, 'acme', 'threat', key('r'), 'metrics'),
  'ingestion-record-states': (b) => columns(b, 'acme', 'threat', key('r')),
  'log-append': (b) => columns(b, number, key('s'), null, id, 'T', '{}', '{}'),
  'ingest-usage-add': (b) => [1, ...columns(b, key('o'), 1, 1)],
  'expiry-erase-contacts-of-resolved-disputes': (_, n) => [Math.min(n, 1_000), ['', '']],
  'expiry-count-contacts-of-resolved-disputes': () => [],
  'expiry-erase-contacts-without-a-dispute': (_, n) => [Math.min(n, 1_000), ['', '']],
  'expiry-count-contacts-without-a-dispute': () => [],
  'expiry-erase-daily-quotas': (_, n) => [Math.min(n, 1_000), []],
  'expiry-count-daily-quotas': () => [],
  'expiry-erase-event-usage': (_, n) => [Math.min(n, 1_000), []],
  'expiry-count-event-usage': () => [],
  'expiry-erase-webhook-tests': (_, n) => [Math.min(n, 1_000), []],
  'expiry-count-webhook-tests': () => [],
  'expiry-erase-attempts-of-deleted-webhooks': (_, n) => [Math.min(n, 1_000), ['', -1]],
  'expiry-count-attempts-of-deleted-webhooks': () => [],
  'expiry-erase-progress-of-deleted-webhooks': (_, n) => [Math.min(n, 1_000), ['']],
  'expiry-count-progress-of-deleted-webhooks': () => [],
  'dispute-contacts-store': (b) => ['acme', ...columns(b, key('dp'), 'a@b.example')],
  'dispute-contacts-remove': (b) => ['acme', b(key('dp'))],
  'key-uses-note': (b) => columns(b, key('k'), 2),
  'rejections-add': (b) => columns(b, 'acme', number, 'k', 'data', 'T', 1, 2, '{}'),
  'rejections-forget': (_, n) => [n],
  'rejections-read-samples': (_, n) => [0, n],
  'rejections-empty-samples': (b) => [b((i) => `(0,${i + 1})`).slice(0, 1_000)],
  'redaction-find-about': (b, n) => [b(hash).slice(0, 4), 'x', 0, n, '1'],
  'redaction-find-expired': (_, n) => [0, n, AT, ['metrics']],
  'redaction-expired-among': (b) => [
    ...columns(b, id, 'ThreatStatusChanged', '{"organization":"acme","threatId":"r1"}'),
    AT,
    ['metrics'],
  ],
  'redaction-disputed-among': (b) => [...columns(b, id, 'acme', key('r')), b(hash).slice(0, 4), 'x'],
  'redaction-parked': (b) => [b(id), ['metrics']],
  'redaction-lock-events': (b) => [b(number)],
  'redaction-rewrite': (b) => columns(b, number, '{}', '{}'),
  'rejections-list': (_, n) => ['acme', 0, 2 ** 31 - 1, '', '', '', '', '', n],
  'event-usage-add': (b) => columns(b, 'acme', number, 'T', 'accepted', 1),
  'event-usage-of': (_, n) => ['acme', 1, n],
  'parked-of-organization': (_, n) => ['acme', 2 ** 40, '', n],
  'parked-of-key': (_, n) => ['k', 2 ** 40, '', n],
  'metrics-count': () => [...owned, ...RANGE],
  'metrics-moment': () => [AT + 1, 1],
  'metrics-count-known': () => [...owned, ...RANGE, ...PAST, AT + 20],
  'metrics-restatement': () => [...owned, ...RANGE, ...PAST, AT + 20, ...RANGE, ...PAST, AT + 20],
  'metrics-restated-records': (_, n) => [...owned, ...PAST, 20, 2 ** 40, n],
  'metrics-assets-of-records': (b) => [b(id)],
  'metrics-comparison': () => [...owned, ...RANGE, ...RANGE],
  'metrics-timeline': () => [...owned, ...RANGE, 'month', '1 month', 0, DAY, DAY],
  'metrics-timeline-by-day': () => [...owned, ...RANGE, 'day', '1 day', 0, 3_000, 3_000],
  'metrics-false-positives': () => ['acme', ...RANGE],
  'takedown-statistics': () => [...owned, ...RANGE],
  'takedown-statistics-of-brand': () => ['acme', 'shoes', ...RANGE],
  'find-brand': () => ['acme', 'b1'],
  'organization-flags': () => ['acme', 1_000],
  'organization-brands': () => ['acme', 10_000],
  'projection-checkpoints': () => [],
  'checkpoints-read': () => [],
  'clock-read': () => [],
  'asset-groups-members': (_, n) => ['acme', 1, '', n, 262_144],
  'asset-groups-placements': (b) => ['acme', b(hash)],
  'backend-of-first': () => [],
  'backend-of-second': () => [],
  'lock-if-free': () => [1],
  'lock-until-commit': () => [1],
  standbys: () => [],
  'follow-asset-statuses': () => [-1, '', -1],
  'asset-status-entries-newest': (b) => [b(hash).slice(0, 10), 'acme', 100],
  'asset-groups-known': (b) => ['acme', ...columns(b, key('g'), number, hash)],
  'asset-groups-read': (_, n) => ['acme', 0, n, 1_000_000],
  'asset-groups-counts': (b) => ['acme', b((i) => i)],
  'webhooks-store-progress': (b) => [
    1,
    // The progress, and the last attempt.
    ...columns(b, key('w'), '{"replay":0,"logId":"log","position":1}', '{"at":1,"records":1,"status":200,"ms":1}'),
  ],
  'webhooks-forget-deleted': (b) => [b(key('w'))],
  'webhooks-outcomes': () => [],
  'webhooks-figures': (_, n) => ['', '', Math.min(n, 200)],
  'webhooks-take-tests': (_, n) => [0, n],
  'webhooks-answer-test': () => ['00000000-0000-4000-8000-000000000000', '{}'],
  'webhooks-list-changed': () => [0],
  'webhooks-rewind-to-end': (_, n) => ['log', n, ''],
  'webhooks-read-endpoint': () => ['acme', 'w1'],
  'embedded-begin-use': () => [],
  'embedded-end-use': () => [],
  'embedded-lock-out': () => [],
  'previous-version-delete-checkpoints': (b) => [b(key('p')).slice(0, 2)],
  'previous-version-delete-parked': (b) => [b(key('p')).slice(0, 2)],
  'lease-take': () => ['counts', 'me', 1],
  'lease-read': () => ['counts'],
  'lease-release': () => ['counts', 'me'],
  'checkpoints-enter': (b) => [b(key('p')), b(() => 1), 'log', 0],
  'checkpoints-move': (b) => [...columns(b, key('p'), 0, 1), 1, ...columns(b, 0, 's', 1, id, true)],
  'parked-events-park': (b) => [
    'p',
    ...columns(b, id, number, 's', 1, 'T', '{}', '{}', '', 1, 'acme', 'k', true, 'c1', '{acme}'),
  ],
  'rebuild-cancel-backend': () => [0],
  'rebuild-end-exports': () => ['facts', 'x'],
  'rebuild-end-with-client': () => [],
  'rebuild-read-backend': () => [],
  'rebuild-try-lock-until-commit': () => ['read_next_metrics'],
  'rebuild-shadow-indexes': () => ['read_next_metrics', 'facts'],
  'rebuild-drop-secondary-indexes': () => ['read_next_metrics', 'facts'],
  'rebuild-create-missing-indexes': () => ['read_next_metrics', 'facts'],
  'rebuild-access-of-table': () => ['facts'],
  'rebuild-options-of-table': () => ['facts'],
  'rebuild-try-lock': () => ['x'],
  'rebuild-unlock-all': () => [],
  'verify-columns-of-table': () => ['facts'],
  'metrics-enter-records': record,
  'metrics-update-records': record,
  'metrics-end-facts': (b) => [...fact(b), b((i) => i + 40)],
  'metrics-insert-facts': (b) => [...newFact(b), ...columns(b, number, 1)],
  'metrics-insert-former-facts': (b) => [...newFact(b), ...columns(b, number, (i) => i + 1, 1)],
  'metrics-delete-former-facts': (b) => [...fact(b), ...columns(b, number, (i) => i + 1, 1)],
  'metrics-read-former-states': (b) => columns(b, 'acme', 'threat', key('r')),
  'metrics-delete-former-states': (b) => columns(b, 'acme', 'threat', key('r')),
  'metrics-insert-former-states': (b) => columns(b, 'acme', 'threat', key('r'), 4, id, '[]', (i) => i + MAX_ROWS, '{}'),
  'metrics-read-changed-threats': (b) => columns(b, 'acme', key('r')),
  'metrics-store-changed-threats': (b) => columns(b, 'acme', key('r'), AT, 'URL', AT, 'PAGE'),
  'metrics-delete-changed-threats': (b) => columns(b, 'acme', key('r')),
  'metrics-add-to-changed-days': (b) => columns(b, 'acme', number, 'URL', 1, 1),
  'metrics-read-clock': () => [],
  'metrics-advance-clock': (b) => columns(b, (i) => i + MAX_ROWS, number),
  'metrics-insert-clock-steps': (b) => columns(b, number, (i) => AT + i),
  'metrics-read-instants': (b) => [b(number)],
  'metrics-add-to-days': (b) => columns(b, 'acme', '', 2, number, 1),
  'metrics-take-from-days': (b) => columns(b, 'acme', '', 2, number, 1),
  'metrics-add-to-type_days': (b) => columns(b, 'acme', '', number, 'URL', 1),
  'metrics-take-from-type_days': (b) => columns(b, 'acme', '', number, 'URL', 1),
  'takedowns-store': (b) => columns(b, 'acme', key('t'), 4, id, 'shoes', 'URL', 1, 1, 2),
  'webhooks-store': (b) => [
    ...columns(b, 'acme', key('w'), 'ACTIVE', 1, null, (i) => i + 1, '{"createdAt":1,"replay":0,"startAfter":-1}'),
  ],
  'webhooks-known': (b) => ['acme', b(hash)],
  'disputes-known': (b) => ['acme', b(id), b(hash)],
  // An organization has at most ten webhooks.
  'webhooks-progress': (b) => [
    'acme',
    JSON.stringify(
      b((i) => ({ webhookId: `w${i}`, kinds: [1, 2, 3, 4], assetTypes: ['URL'], replay: 0, startAfter: -1 })).slice(
        0,
        10,
      ),
    ),
  ],
  'webhooks-feed-end': () => [],
  'webhooks-feed-place-at': (_, n) => ['acme', n],
  'webhooks-attempts': (_, n) => ['w1', n],
  'webhook-tests-add': () => [id(0), 'acme', 'w1'],
  'webhooks-read-test': () => [id(1)],
  'webhook-tests-delete': () => [id(1)],
  'lists-read': () => [],
  'lists-read-whole': () => ['all-8b'],
  'lists-first-of-newest': () => ['all-8b', 1_000],
  'lists-read-versions': (_, n) => ['all-8b', 0, n, n, 1_000_000],
  'lists-add': () => [['all-8b', 'own-8b'], Buffer.alloc(32)],
  'lists-move': () => ['all-8b', 0, Buffer.alloc(32), 1, Buffer.alloc(32), '[]', '[]', AT, null, null],
  'lists-add-version': (_, n) => ['ask-8b', n, AT, Buffer.alloc(32), Buffer.alloc(0), Buffer.alloc(8), null],
  'lists-drop-versions': () => ['all-8b'],
  'lists-drop-older-hashes': () => ['all-8b', 1],
  'lists-bytes-since-whole': () => ['all-8b', 1],
  'lists-read-since': (_, n) => [['all-8b', 'ask-8b'], AT, 64 * n],
  'list-names-missing': (_, n) => [Buffer.alloc(8 * n), false],
  'list-names-add': (b) => [b(() => Buffer.alloc(8)), false, ...columns(b, 'evil.example/', 'evil.example', 'ab')],
  'list-names-unlist': (_, n) => [Buffer.alloc(8 * n), false],
  'list-names-others': (_, n) => [Buffer.alloc(8 * n), false],
  'list-names-complete': () => [],
  'list-names-forget': () => [],
  'list-names-of': (_, n) => [Buffer.alloc(8 * n), false],
  'list-names-after': (_, n) => [Buffer.alloc(8), false, Math.min(n, 5_000)],
  'list-names-between': (b) => [b(() => Buffer.alloc(8)), b(() => Buffer.alloc(8, 255)), 100],
  'expiry-erase-names-of-lists': (_, n) => [Math.min(n, 1_000), []],
  'expiry-count-names-of-lists': () => [],
  'expiry-erase-versions-of-lists': (_, n) => [Math.min(n, 1_000), []],
  'expiry-count-versions-of-lists': () => [],
  'bounded-times-add': (b) => [b(number), AT],
  'bounded-times-read': (b) => [b(number)],
  'brands-store': (b) => columns(b, 'acme', key('b'), true, 4, id, 'B'),
  'feature-flags-store': (b) => columns(b, 'acme', key('f'), true, 4, id),
  'register-enter': (b) => [
    ...columns(b, recordUuid('r'), 'acme', 2, key('r'), 4, id, number, null, 1, 1, 1, true, 1, 'BLOCKED', 'URL'),
    ...columns(b, id, 'x', '{shoes}', null, null),
  ],
  'register-update': (b) => [
    ...columns(b, recordUuid('r'), 'acme', 2, key('r'), 4, id, number, null, 1, 1, 1, true, 1, 'BLOCKED', 'URL'),
    ...columns(b, id, 'x', '{shoes}', null, null),
  ],
  'register-update-first': (b) => columns(b, recordUuid('r'), 1, true),
  'register-delete': (b) => [b(recordUuid('r'))],
  'register-delete-brands': (b) => [b(recordUuid('r'))],
  'register-insert-brands': (b) => columns(b, recordUuid('n'), 'acme', 2, key('n'), 'shoes', 1, 'BLOCKED', 'URL', id),
  'register-read': (b) => [b(recordUuid('r'))],
  'register-redact': (b) => columns(b, recordUuid('r'), number, id, 1, number, '[redacted]', null),
  'register-redact-brands': (b) => [b(recordUuid('r'))],
  'register-read-entries': (b) => [b(key('c'))],
  'register-store-entries': (b) =>
    columns(b, key('c'), 4, id, '{acme}', null, null, null, '{"before":null,"changes":[]}'),
  'register-read-clock': () => [],
  'register-set-clock': () => [1, AT, AT],
  'register-read-disputes': (b) => columns(b, 'acme', key('d')),
  'register-store-disputes': (b) => columns(b, 'acme', key('d'), id, 4, 4, 'ACCEPTED', null, 1, '{}', '{}'),
  'asset-statuses-read-entries': (b) => [b(key('c'))],
  'asset-statuses-redact-entries': (b) => [b(key('c'))],
  'asset-statuses-store-entries': (b) =>
    columns(b, key('c'), hash, key('URL:'), key('x'), 'ALLOWED', 4, id, '{acme:shoes}', AT),
  'store-asset-statuses': (b) => columns(b, hash, key('URL:'), number),
  'asset-groups-store-streams': (b) => columns(b, key('o'), 6, 6, AT),
  'asset-groups-store-groups': group,
  'asset-groups-store-responses': (b) => columns(b, 'acme', hash, 'b', number, AT, (i) => i + 1),
  'asset-groups-delete-expired-responses': (b) => [b(key('o')), 1_000],
  'asset-groups-redact-assets': (b) => columns(b, 'acme', hash),
  'asset-groups-store-assets': (b) => columns(b, 'acme', hash, (i) => 1 + ((i + 7) % 50), 4, id, 'URL', key('x')),
};
