import { statfs } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

/** Exports how full a directory's file system is; nothing while the directory does not exist. */
export const watchDisk = (directory: string, registry: Registry): void => {
  new Gauge({
    name: 'threat_protection_data_dir_bytes',
    help: 'The file system of DATA_DIR: its size, and what is free for users other than root',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      // A file system that is gone must not hide the other figures.
      const found = await statfs(directory).catch(() => undefined);
      this.reset();
      if (found === undefined) return;
      this.set({ state: 'size' }, found.blocks * found.bsize);
      this.set({ state: 'free' }, found.bavail * found.bsize);
    },
  });
};
