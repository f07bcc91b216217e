import { statement } from '../postgres/statement.js';

/** Stores when keys were last used, unless another instance has stored a later use. The log does not contain uses. */
export const STORE_KEY_USES = statement(
  'key-uses-note',
  { keyId: 'text[]', lastUsedAt: 'bigint[]' },
  {},
  `
    insert into service.key_uses as k (key_id, last_used_at)
    select * from unnest($1::text[], $2::bigint[]) u (key_id, last_used_at) order by key_id
    on conflict (key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
);
