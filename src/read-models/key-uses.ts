import type { Pool } from 'pg';
import { createReadModels } from './kysely.js';
import { NOTE_KEY_USES } from './statements.js';

/** Notes when keys were last used, in ms; what another instance has noted later stays. Not counted from the log. */
export const noteKeyUses = async (pool: Pool, uses: ReadonlyMap<string, number>): Promise<void> => {
  await NOTE_KEY_USES.run(pool, { keyId: [...uses.keys()], lastUsedAt: [...uses.values()] });
};

/** By key id, in ms. */
export const readKeyUses = async (pool: Pool): Promise<Map<string, number>> => {
  const rows = await createReadModels(pool).selectFrom('key_uses').select(['key_id', 'last_used_at']).execute();
  return new Map(rows.map(({ key_id: id, last_used_at: at }) => [id, at]));
};
