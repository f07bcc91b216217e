import { EXIT_CONFIG } from './config.js';
import { say } from './terminal.js';

/**
 * The minimum number of file descriptors. Loading the program needs more than 400 at once, each client connection needs
 * one, and the connections to the databases need some.
 */
export const MIN_DESCRIPTORS = 1_024;

interface UserLimits {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/**
 * How many file descriptors this process may open. Node has raised the soft limit to the hard limit. Undefined on
 * Windows.
 */
const limit = (): number | undefined => {
  Object.assign(process.report, { excludeNetwork: true });
  const soft = (process.report.getReport() as UserLimits).userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : soft;
};

/**
 * Ends the process with a clear message if the process cannot open enough files. Must run before anything else is
 * loaded. Otherwise a module would be reported as "not found", or a connection would fail.
 */
export const requireFileDescriptors = (): void => {
  const allowed = limit() ?? Infinity;
  if (allowed >= MIN_DESCRIPTORS) return;
  say(
    `This process may open ${allowed} files and connections (ulimit -n); it needs at least ${MIN_DESCRIPTORS}. ` +
      'Raise the hard limit and start the process again',
  );
  process.exit(EXIT_CONFIG);
};
