import { statfs } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

/** Tells Prometheus how full the file system of a directory is; nothing while the directory is not there. */
export const watchDisk = (directory: string, registry: Registry): void => {
  new Gauge({
    name: 'data_dir_bytes',
    help: 'The file system of DATA_DIR: its size, and what is free of it for those who are not root',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      // A file system that is gone must not take the other figures with it.
      const found = await statfs(directory).catch(() => undefined);
      this.reset();
      if (found === undefined) return;
      this.set({ state: 'size' }, found.blocks * found.bsize);
      this.set({ state: 'free' }, found.bavail * found.bsize);
    },
  });
};
