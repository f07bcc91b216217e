/** One PostgreSQL for the whole run. */
export default async (): Promise<void> => {
  if (!process.env['TEST_DATABASE_URL']) throw new Error('TEST_DATABASE_URL is not set');
};
