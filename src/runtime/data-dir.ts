import { join } from 'node:path';

/** Everything that the service keeps in `DATA_DIR`: the names of folders and files. */
export const OWN_NAMES = ['postgres', 'lists', 'demo', 'webhook-master-key'] as const;

/** Returns the path of a folder or file of the service in `DATA_DIR`. */
export const inDataDir = (dataDir: string, name: (typeof OWN_NAMES)[number]): string => join(dataDir, name);
