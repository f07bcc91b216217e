import { readFile } from 'node:fs/promises';
import { SUPERUSER } from '../../src/postgres/embedded/cluster.js';
import { type Postmaster, urlOf } from '../../src/postgres/embedded/endpoint.js';
import { findClusterLayout, type ClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import { findPostmaster } from '../../src/postgres/embedded/postmaster.js';

/** Returns the URL of a server's superuser, who can create databases and roles. */
export const superuserUrl = async ({ passwordFile }: ClusterLayout, postmaster: Postmaster): Promise<string> =>
  urlOf(postmaster, SUPERUSER, await readFile(passwordFile, 'utf8'));

/** Returns the URL of the superuser of the server that runs in a data directory. */
export const superuserOf = async (dataDir: string): Promise<string> => {
  const layout = await findClusterLayout(dataDir);
  return superuserUrl(layout, (await findPostmaster(layout.cluster))!);
};
