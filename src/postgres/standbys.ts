import type { Pool } from 'pg';
import type { WriteLog } from '../runtime/log-line.js';
import { STANDBYS } from './statements.js';

/** Tells whether what is acknowledged is on a standby too, for a log in PostgreSQL. */
export const logStandbys = async (pool: Pick<Pool, 'query'>, writeLog: WriteLog): Promise<void> => {
  const [row] = await STANDBYS.run(pool, {});
  const { names, commit } = row!;
  if (names !== '' && commit !== 'off' && commit !== 'local')
    writeLog(`What is acknowledged is on a standby too (synchronous_standby_names = ${names})`);
  else
    writeLog(
      'What is acknowledged is on the disk of this database server alone ' +
        `(${names === '' ? 'synchronous_standby_names is empty' : `synchronous_commit = ${commit}`}): a failover loses ` +
        'what the standby has not got yet',
    );
};
