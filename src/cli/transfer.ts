import type { Command } from 'commander';
import { open } from 'node:fs/promises';
import { exportOrganization } from '../event-log/transfer/export-organization.js';
import { importOrganization } from '../event-log/transfer/import-organization.js';
import type { Trailer } from '../event-log/transfer/transfer-file.js';
import { writeAtomically } from '../event-log/transfer/write-atomically.js';
import { onFirstSignal } from './runtime/interruption.js';
import { Interrupted, prints, type Result } from './runtime/output.js';
import { count, withProgress } from './runtime/progress.js';
import { requireReadable } from './sending/readable-files.js';
import { withLog } from './runtime/session.js';
import { requireSlug } from './runtime/slug.js';

interface ExportOptions {
  readonly toFile: string;
  readonly dryRun?: boolean;
}

const exportTo = (organization: string, { toFile, dryRun = false }: ExportOptions): Promise<Result> => {
  requireSlug(organization, 'The organization');
  return withLog(
    async ({ log }) => {
      const interruption = new AbortController();
      const stopListening = onFirstSignal((name) => interruption.abort(name));
      let exported!: Trailer;
      try {
        await withProgress({ exported: 'events' }, async (bars) => {
          const text = exportOrganization(
            log,
            organization,
            (events, fraction) => bars.exported.update(events, fraction),
            (trailer) => (exported = trailer),
          );
          if (dryRun) for await (const _ of text) interruption.signal.throwIfAborted();
          else await writeAtomically(toFile, text, interruption.signal);
        });
      } catch (error) {
        if (!interruption.signal.aborted) throw error;
        throw new Interrupted(`${interruption.signal.reason}: the call was interrupted, and no file was written`);
      } finally {
        stopListening();
      }
      return {
        lines: [
          `${count(exported.events)} events of ${organization} ${dryRun ? 'would be' : 'are'} in ${toFile}`,
          ...Object.entries(exported.types).map(([type, events]) => `${type} ${events}`),
        ],
        json: { organization, file: toFile, logId: await log.id(), ...exported, dryRun },
      };
    },
    { handlesSignals: true },
  );
};

const importFrom = async (path: string, { dryRun = false }: { readonly dryRun?: boolean }): Promise<Result> => {
  await requireReadable([path]);
  return withLog(async ({ log }) => {
    const file = await open(path);
    try {
      const { organization, logId, events, present } = await withProgress({ read: 'events' }, (bars) =>
        importOrganization(log, file, { dryRun, onProgress: (done, fraction) => bars.read.update(done, fraction) }),
      );
      const stored = events - present;
      return {
        lines: [
          `${count(stored)} of ${count(events)} events of ${organization} ${dryRun ? 'would be' : 'were'} stored; ` +
            `${count(present)} were here already`,
        ],
        json: { organization, logId, events, present, stored, dryRun },
      };
    } finally {
      await file.close();
    }
  });
};

export const addTransferCommands = (organizations: Command): void => {
  prints(
    organizations
      .command('export')
      .argument('<slug>', 'the organization')
      .description('write all events of an organization to a compressed file; the file has no API keys and no secrets')
      .requiredOption('--to-file <file>', 'the file, which only its owner can read')
      .option('--dry-run', 'count the events; no file is written'),
    exportTo,
  );
  prints(
    organizations
      .command('import')
      .argument('<file>', 'a file of `organizations export`')
      .description('store the events of a file that the log lacks; repeat the call to continue an interrupted import')
      .option('--dry-run', 'verify the file and count the missing events; nothing is stored'),
    importFrom,
  );
};
