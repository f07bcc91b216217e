import { EXIT_CONFIG } from './config.js';
import { say } from './terminal.js';

/** Loading the program takes more than 400 at once; each connection takes one, and the databases take some. */
export const MIN_DESCRIPTORS = 1_024;

interface UserLimits {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/** How many descriptors this process may open. Node has raised the soft limit to the hard one. Undefined on Windows. */
const limit = (): number | undefined => {
  Object.assign(process.report, { excludeNetwork: true });
  const soft = (process.report.getReport() as UserLimits).userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : soft;
};

/**
 * Ends the process with a clear message if it cannot open enough files, before anything else is loaded. Otherwise a
 * module would be reported as "not found", or a connection would fail.
 */
export const requireDescriptors = (): void => {
  const allowed = limit() ?? Infinity;
  if (allowed >= MIN_DESCRIPTORS) return;
  say(
    `This process may open ${allowed} files and connections (ulimit -n); it needs at least ${MIN_DESCRIPTORS}. ` +
      'Raise the hard limit and start the process again',
  );
  process.exit(EXIT_CONFIG);
};
