import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A built file of the project, as what another process or thread is to load. */
export const built = (path: string): string => pathToFileURL(join(process.cwd(), 'dist', `${path}.js`)).href;
