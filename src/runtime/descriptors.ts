import { EXIT_CONFIG } from './config.js';
import { say } from './terminal.js';

/** Loading the program alone takes more than 400 at once, each connection takes one, and some are for the databases. */
export const MIN_DESCRIPTORS = 1_024;

interface UserLimits {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/** How many descriptors this process may have open; Node has raised its soft limit to the hard one. Undefined on Windows. */
const limit = (): number | undefined => {
  Object.assign(process.report, { excludeNetwork: true });
  const soft = (process.report.getReport() as UserLimits).userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : soft;
};

/**
 * Ends a process that cannot open enough files, with a clear message and before anything else is loaded; otherwise the
 * first thing to fail would be a module that "is not found", or a connection.
 */
export const requireDescriptors = (): void => {
  const allowed = limit() ?? Infinity;
  if (allowed >= MIN_DESCRIPTORS) return;
  say(
    `This process may open ${allowed} files and connections (ulimit -n); it needs at least ${MIN_DESCRIPTORS}. ` +
      'Raise the hard limit and start it again',
  );
  process.exit(EXIT_CONFIG);
};
