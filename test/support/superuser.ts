import { readFile } from 'node:fs/promises';
import { SUPERUSER } from '../../src/embedded-postgres/cluster.js';
import { urlOf } from '../../src/embedded-postgres/endpoint.js';
import { findPlace, type Place } from '../../src/embedded-postgres/place.js';
import { findPostmaster, type Postmaster } from '../../src/embedded-postgres/postmaster.js';

/** The URL of a server's superuser, who can make databases and roles as the service's role cannot. */
export const superuserUrl = async ({ passwordFile }: Place, postmaster: Postmaster): Promise<string> =>
  urlOf(postmaster, SUPERUSER, await readFile(passwordFile, 'utf8'));

/** The same, of the server that runs in a data directory. */
export const superuserOf = async (dataDir: string): Promise<string> => {
  const place = await findPlace(dataDir);
  return superuserUrl(place, (await findPostmaster(place.cluster))!);
};
