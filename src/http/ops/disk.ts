import { statfs } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

/** Exports the size and the free space of the file system of a directory; nothing while the directory does not exist. */
export const watchDisk = (directory: string, registry: Registry): void => {
  new Gauge({
    name: 'threat_protection_data_dir_bytes',
    help: 'Size of the file system of DATA_DIR, and its free space for users other than root',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      // A missing file system must not fail the scrape.
      const stats = await statfs(directory).catch(() => undefined);
      this.reset();
      if (stats === undefined) return;
      this.set({ state: 'size' }, stats.blocks * stats.bsize);
      this.set({ state: 'free' }, stats.bavail * stats.bsize);
    },
  });
};
