import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { underLock } from '../../../../src/postgres/embedded/lock.js';
import { processIdentity } from '../../../../src/postgres/embedded/processes.js';
import { countClients } from '../../../../src/postgres/embedded/clients.js';
import { removeFolder, temporaryFolder } from './installation.js';

describe('the lock of a data directory', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  afterEach(() => removeFolder(folder));

  const lockOf = (pid: number, identity: string | undefined): void =>
    writeFileSync(join(folder, 'lock.7'), `${pid}\n${identity}`);

  it('lets one in at a time, in whatever order they come, after a killed holder too', async () => {
    lockOf(process.pid, 'another start');
    let inside = 0;
    let entered = 0;
    let most = 0;
    const enter = (): Promise<void> =>
      underLock(folder, async () => {
        most = Math.max(most, ++inside);
        await sleep(1);
        inside--;
        entered++;
      });
    await Promise.all(Array.from({ length: 40 }, enter));
    expect({ entered, most }).toEqual({ entered: 40, most: 1 });
  });

  it('is kept while its holder lives, and free once that is killed', async () => {
    const holder = spawn('sleep', ['60']);
    lockOf(holder.pid!, processIdentity(holder.pid!));
    let isIn = false;
    const entered = underLock(folder, async () => {
      isIn = true;
    });
    await sleep(200);
    expect(isIn).toBe(false);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await entered;
  });

  it('is free again after a failure', async () => {
    await expect(underLock(folder, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke');
    expect(await underLock(folder, () => Promise.resolve('in'))).toBe('in');
  });

  it('does not take a process for a user that has the pid of one that is gone', async () => {
    writeFileSync(join(folder, `${process.pid}.gone`), 'another start');
    writeFileSync(join(folder, `${process.pid}.here`), processIdentity(process.pid)!);
    expect(await countClients(folder)).toBe(1);
  });
});
