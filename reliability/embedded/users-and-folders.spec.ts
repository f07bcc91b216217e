import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { canEnter, type Owner } from '../../src/postgres/embedded/cluster-layout.js';
import { queryOnce } from '../../test/support/query-once.js';
import { clusterOf, install, removeFolder, serverOf, temporaryFolder } from '../../test/support/installation.js';

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;

const idOf = (option: string): number => (isRoot ? Number(execFileSync('id', [option, 'nobody'])) : 0);
const nobody: Owner = { uid: idOf('-u'), gid: idOf('-g') };
/** Tests as another user require root, and that the other user may run Node. */
const asAnotherUser = isRoot && canEnter(nobody, dirname(process.execPath)) ? it : it.skip;

/** Removes the symbolic links that `npm ci --ignore-scripts` does not create. */
const removeLinks = (root: string): void => {
  const links = JSON.parse(readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as { target: string }[];
  for (const { target } of links) unlinkSync(join(root, target));
};

describe('The embedded PostgreSQL', () => {
  let folder: string;
  let data: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
    data = join(folder, 'data');
  });

  afterEach(async () => {
    const cluster = existsSync(data) ? clusterOf(data) : undefined;
    if (cluster && !cluster.startsWith(folder)) await removeFolder(dirname(cluster));
    await removeFolder(folder);
  });

  const serverUid = (): number => statSync(join(clusterOf(data), 'postmaster.pid')).uid;

  it('starts after an installation without scripts', async () => {
    const installation = install(folder, { copied: true });
    removeLinks(installation.package);
    const user = await installation.use(data);
    expect(await serverOf(data)).toBeDefined();
    await user.leave();
  });

  it('starts in a folder whose name has blanks, single quotes and non-ASCII letters', async () => {
    const named = join(folder, `a 'b' ü`);
    mkdirSync(named);
    const user = await install(named, { copied: true }).use(join(named, 'data'));
    expect(await serverOf(join(named, 'data'))).toBeDefined();
    await user.leave();
  });

  it.each(['a $HOME', 'a "b"', 'a `c`'])(
    'refuses to start in the folder %s, because a shell would expand the name, and says so',
    async (name) => {
      const named = join(folder, name);
      mkdirSync(named);
      const refused = install(named, { copied: true }).use(data);
      await expect(refused).rejects.toThrow(/ConfigError: [^]*contains \$, " or a backtick. Rename the folder/);
    },
  );

  asRoot('runs as another user if it is started as root', async () => {
    const user = await install(folder).use(data);
    expect(serverUid()).not.toBe(0);
    await user.leave();
  });

  asRoot('keeps its data outside a folder that only root can enter, also after a restart', async () => {
    chmodSync(folder, 0o700);
    const installation = install(folder, { copied: true });
    const first = await installation.use(data);
    const cluster = clusterOf(data);
    expect(cluster.startsWith(folder)).toBe(false);
    expect(statSync(cluster).mode & 0o777).toBe(0o700);
    expect(statSync(dirname(cluster)).uid).toBe(0);
    await first.leave();
    const second = await installation.use(data);
    expect(clusterOf(data)).toBe(cluster);
    expect(await serverOf(data)).toBeDefined();
    await second.leave();
  });

  describe('in a folder that only root can enter', () => {
    let installation: ReturnType<typeof install>;
    const clusters = new Set<string>();
    /** Starts the service, runs a statement and stops the service. @returns what the service logged */
    const runOnce = async (dataDir: string, sql: string): Promise<{ rows: unknown[]; log: string }> => {
      const user = await installation.use(dataDir);
      clusters.add(dirname(clusterOf(dataDir)));
      try {
        return { rows: await queryOnce(user.url, sql), log: user.log() };
      } finally {
        await user.leave();
      }
    };
    const COUNT = `select count(*)::int as n from pg_namespace where nspname = 'mine'`;

    beforeEach(async () => {
      chmodSync(folder, 0o700);
      installation = install(folder, { copied: true });
      if (isRoot) await runOnce(data, 'create schema mine');
    });
    afterEach(async () => {
      for (const cluster of clusters) await removeFolder(cluster);
      clusters.clear();
    });

    asRoot('a deleted data folder that is created again gets a new database, and the old one is named', async () => {
      const before = dirname(clusterOf(data));
      await removeFolder(data);
      const { rows, log } = await runOnce(data, COUNT);
      expect(rows).toEqual([{ n: 0 }]);
      expect(log).toContain(`${before} has the database of a deleted DATA_DIR at this path`);
      expect(existsSync(join(before, 'cluster', 'PG_VERSION'))).toBe(true);
    });

    asRoot('a moved or restored data folder keeps its database', async () => {
      const moved = join(folder, 'moved');
      renameSync(data, moved);
      expect((await runOnce(moved, COUNT)).rows).toEqual([{ n: 1 }]);
      execFileSync('cp', ['-a', moved, join(folder, 'backup')]);
      await removeFolder(moved);
      renameSync(join(folder, 'backup'), data);
      expect((await runOnce(data, COUNT)).rows).toEqual([{ n: 1 }]);
    });

    asRoot(
      'a copied data folder does not share the database of the original, and the error says what to do',
      async () => {
        const copy = join(folder, 'copy');
        execFileSync('cp', ['-a', data, copy]);
        await expect(installation.use(copy)).rejects.toThrow(
          `${join(copy, 'postgres')} is a copy of ${join(data, 'postgres')}, and both would use the database in`,
        );
        expect((await runOnce(data, COUNT)).rows).toEqual([{ n: 1 }]);
      },
    );

    asRoot('a start that fails leaves no PostgreSQL running', async () => {
      for (const name of ['password', 'role-password']) writeFileSync(join(data, 'postgres', name), 'wrong');
      await expect(installation.use(data)).rejects.toThrow(
        /password authentication failed[^]*restore .*postgres as it was/,
      );
      expect(await serverOf(data)).toBeUndefined();
    });
  });

  asAnotherUser('leaves no PostgreSQL running after a failed start as an ordinary user', async () => {
    const installation = install(folder, { copied: true });
    chownSync(folder, nobody.uid, nobody.gid);
    await (await installation.use(data, nobody)).leave();
    for (const name of ['password', 'role-password']) writeFileSync(join(data, 'postgres', name), 'wrong');
    await expect(installation.use(data, nobody)).rejects.toThrow(/password authentication failed/);
    expect(await serverOf(data)).toBeUndefined();
  });

  asAnotherUser('starts as an ordinary user in a home directory that no other user can enter', async () => {
    const installation = install(folder, { copied: true });
    chownSync(folder, nobody.uid, nobody.gid);
    chmodSync(folder, 0o700);
    const user = await installation.use(data, nobody);
    expect(serverUid()).toBe(nobody.uid);
    await user.leave();
  });

  asAnotherUser('starts as an ordinary user from an incomplete read-only installation', async () => {
    const installation = install(folder, { copied: true });
    removeLinks(installation.package);
    mkdirSync(data);
    chownSync(data, nobody.uid, nobody.gid);
    const user = await installation.use(data, nobody);
    expect(readdirSync(join(data, 'postgres')).join()).toMatch(/binaries-/);
    await user.leave();
  });

  asAnotherUser('refuses to start in a folder of another user, and says so', async () => {
    const installation = install(folder);
    const owner = await installation.use(data);
    await expect(installation.use(data, nobody)).rejects.toThrow('the folder belongs to');
    await owner.leave();
  });
});
