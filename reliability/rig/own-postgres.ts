import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { findBinaries } from '../../src/postgres/embedded/binaries.js';
import { createCluster } from '../../src/postgres/embedded/cluster.js';
import { findClusterLayout, type ClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import { findPostmaster, startServer, stopServer } from '../../src/postgres/embedded/postmaster.js';
import { superuserUrl } from '../../test/support/superuser.js';
import type { Scene } from './scene.js';

/** A PostgreSQL that the fault alone starts and kills; nobody revives it. */
export class OwnPostgres {
  private constructor(private readonly place: ClusterLayout) {}

  static async create(scene: Scene, folder?: string): Promise<OwnPostgres> {
    const place = await findClusterLayout(folder ?? (await scene.folder()));
    scene.later(() => rm(dirname(place.cluster), { recursive: true, force: true, maxRetries: 20 }));
    await createCluster(place, await findBinaries(place));
    const postgres = new OwnPostgres(place);
    scene.later(() => postgres.kill());
    return postgres;
  }

  /** On loopback, and on the same port every time. @returns its URL */
  async start(): Promise<string> {
    return superuserUrl(this.place, await startServer(this.place, 'loopback', () => {}));
  }

  /** kill -9 of the postmaster; its children see it and end. */
  async kill(): Promise<void> {
    const postmaster = await findPostmaster(this.place.cluster);
    if (!postmaster) return;
    process.kill(postmaster.pid, 'SIGKILL');
    // What is dying can still be mistaken for a server.
    while (await findPostmaster(this.place.cluster)) await sleep(10);
  }

  async stop(): Promise<void> {
    await stopServer(this.place);
  }
}

/** The embedded server of a data directory, seen from outside: looking does not count as using. */
export const embeddedServer = async (dataDir: string): Promise<{ pid: number; url: string } | undefined> => {
  const place = await findClusterLayout(dataDir);
  const postmaster = await findPostmaster(place.cluster);
  return postmaster?.isReady ? { pid: postmaster.pid, url: await superuserUrl(place, postmaster) } : undefined;
};

/** Takes away what the embedded server of a data directory keeps, also outside of it. */
export const removeEmbedded = async (dataDir: string): Promise<void> => {
  const place = await findClusterLayout(dataDir);
  const postmaster = await findPostmaster(place.cluster);
  if (postmaster) {
    process.kill(postmaster.pid, 'SIGKILL');
    if (postmaster.socketDirectory !== '') await rm(postmaster.socketDirectory, { recursive: true, force: true });
  }
  if (!place.cluster.startsWith(place.home))
    await rm(dirname(place.cluster), { recursive: true, force: true, maxRetries: 20 });
};
