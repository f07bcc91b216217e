import type { Pool } from 'pg';

/** Notes when keys were last used, in ms; what another instance has noted later stays. Not counted from the log. */
export const noteKeyUses = async (pool: Pool, uses: ReadonlyMap<string, number>): Promise<void> => {
  await pool.query(
    `insert into read.key_uses as k (key_id, last_used_at)
     select * from unnest($1::text[], $2::bigint[]) u (key_id, last_used_at) order by key_id
     on conflict (key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
    [[...uses.keys()], [...uses.values()]],
  );
};

/** By key id, in ms. */
export const readKeyUses = async (pool: Pool): Promise<Map<string, number>> => {
  const { rows } = await pool.query<{ key_id: string; last_used_at: number }>('select * from read.key_uses');
  return new Map(rows.map(({ key_id: id, last_used_at: at }) => [id, at]));
};
