import { statement } from './statement.js';

/** The process of the server behind a connection. */
export const BACKEND = statement('backend', {}, { pid: 'integer' }, 'select pg_backend_pid() as pid');
