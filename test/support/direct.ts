/**
 * Where the run's database is behind a pooler of transactions (`TEST_DATABASE_URL`), the server itself is
 * `TEST_DIRECT_URL`.
 * @returns what the settings of a service on this database need besides its address
 */
export const directTo = (databaseUrl: string | undefined): { DATABASE_DIRECT_URL?: string } => {
  const server = process.env['TEST_DIRECT_URL'];
  const pooler = process.env['TEST_DATABASE_URL'];
  if (server === undefined || !databaseUrl?.startsWith(new URL('/', pooler).href)) return {};
  return { DATABASE_DIRECT_URL: new URL(new URL(databaseUrl).pathname, server).href };
};
