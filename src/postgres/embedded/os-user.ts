import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { chown } from 'node:fs/promises';

/** The user that the server runs as, if this process is root: PostgreSQL refuses to run as root. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const idOf = (user: string): Owner | undefined => {
  try {
    const id = (option: string): number =>
      Number(execFileSync('id', [option, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    const owner = { uid: id('-u'), gid: id('-g') };
    return owner.uid > 0 ? owner : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The user that the server runs as. An existing cluster keeps its owner.
 * @returns undefined if the server runs as the current user
 */
export const serverOwner = (cluster: string): Owner | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  if (existsSync(cluster)) {
    const { uid, gid } = statSync(cluster);
    if (uid !== 0) return { uid, gid };
  }
  return idOf('postgres') ?? idOf('nobody') ?? { uid: 65_534, gid: 65_534 };
};

/**
 * Whether the user can enter the directory. The test enters the directory, because modes, ACLs and mount options all
 * matter.
 */
export const canEnter = (owner: Owner | undefined, directory: string): boolean =>
  owner === undefined ||
  spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], { ...owner, cwd: '/', stdio: 'ignore' }).status === 0;

/** Makes the user the owner of the file or directory. Does nothing without a user. */
export const changeOwner = async (owner: Owner | undefined, path: string): Promise<void> => {
  if (owner) await chown(path, owner.uid, owner.gid);
};
