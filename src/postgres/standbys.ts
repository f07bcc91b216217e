import type { Pool } from 'pg';
import type { WriteLog } from '../runtime/log-line.js';
import { STANDBYS } from './statements.js';

/** Logs whether a commit waits for a standby. Call this function only if the log is in PostgreSQL. */
export const logStandbys = async (pool: Pick<Pool, 'query'>, writeLog: WriteLog): Promise<void> => {
  const [row] = await STANDBYS.run(pool, {});
  const { names, commit } = row!;
  if (names !== '' && commit !== 'off' && commit !== 'local')
    writeLog(`Acknowledged events are also stored on a standby (synchronous_standby_names = ${names})`);
  else
    writeLog(
      'Acknowledged events are stored on this database server only ' +
        `(${names === '' ? 'synchronous_standby_names is empty' : `synchronous_commit = ${commit}`}): a failover loses ` +
        'the events that the standby has not received yet',
    );
};
