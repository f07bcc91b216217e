import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { findBinaries, createCluster } from '../../src/postgres/embedded/cluster.js';
import { findClusterLayout, type ClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import { findPostmaster, startServer, stopServer } from '../../src/postgres/embedded/postmaster.js';
import { superuserUrl } from '../../test/support/superuser.js';
import type { RunContext } from './run-context.js';

/** A PostgreSQL server that the scenario starts and kills. No other process uses it. */
export class PostgresServer {
  private constructor(private readonly layout: ClusterLayout) {}

  static async create(context: RunContext, folder?: string): Promise<PostgresServer> {
    const layout = await findClusterLayout(folder ?? (await context.folder()));
    context.onEnd(() => rm(dirname(layout.cluster), { recursive: true, force: true, maxRetries: 20 }));
    await createCluster(layout, await findBinaries(layout));
    const postgres = new PostgresServer(layout);
    context.onEnd(() => postgres.kill());
    return postgres;
  }

  /** Starts the server on loopback, on the same port each time. @returns the URL of its superuser */
  async start(): Promise<string> {
    return superuserUrl(this.layout, await startServer(this.layout, 'loopback', () => {}));
  }

  /** Kills the postmaster with SIGKILL; its children then end by themselves. */
  async kill(): Promise<void> {
    const postmaster = await findPostmaster(this.layout.cluster);
    if (!postmaster) return;
    process.kill(postmaster.pid, 'SIGKILL');
    // The killed server may still look like a running server for a moment.
    while (await findPostmaster(this.layout.cluster)) await sleep(10);
  }

  async stop(): Promise<void> {
    await stopServer(this.layout);
  }
}

/** Returns the embedded server of a data directory without registering as a user of it. */
export const embeddedServer = async (dataDir: string): Promise<{ pid: number; url: string } | undefined> => {
  const layout = await findClusterLayout(dataDir);
  const postmaster = await findPostmaster(layout.cluster);
  return postmaster?.isReady ? { pid: postmaster.pid, url: await superuserUrl(layout, postmaster) } : undefined;
};

/** Kills the embedded server of a data directory, and deletes its files outside the directory. */
export const removeEmbedded = async (dataDir: string): Promise<void> => {
  const layout = await findClusterLayout(dataDir);
  const postmaster = await findPostmaster(layout.cluster);
  if (postmaster) {
    process.kill(postmaster.pid, 'SIGKILL');
    if (postmaster.socketDirectory !== '') await rm(postmaster.socketDirectory, { recursive: true, force: true });
  }
  if (!layout.cluster.startsWith(layout.home))
    await rm(dirname(layout.cluster), { recursive: true, force: true, maxRetries: 20 });
};
