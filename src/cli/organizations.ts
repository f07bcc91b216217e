import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { open } from 'node:fs/promises';
import { Invalid, NotFound } from '../errors.js';
import { formatInstant, dayOf, formatDay } from '../events/instant.js';
import { operatorName, requireSlug, withLog, withDatabase } from './session.js';
import { prints, type Result, table, withProgress, onFirstSignal, Interrupted, count } from './output.js';
import { withProjections } from './projections.js';
import { type Erased, eraseOrganization } from './erasing/erase-organization.js';
import {
  type ErasureProgress,
  findOrganization,
  type Found,
  isEmpty,
  sumOf,
  readCertificate,
  subjectOf,
} from './erasing/find-organization.js';
import { exportOrganization, writeAtomically } from '../event-log/transfer/export-organization.js';
import { importOrganization } from '../event-log/transfer/import-organization.js';
import type { Trailer } from '../event-log/transfer/transfer-file.js';
import { requireReadable } from './sending/post-events.js';
import { readConfig } from '../runtime/config.js';
import { databaseTime } from '../postgres/clock.js';
import { readIngestUsage } from '../quotas/daily-quota.js';
import { say } from '../runtime/terminal.js';

interface EraseOptions {
  readonly confirm?: string;
  readonly dryRun?: boolean;
  readonly verify?: boolean;
}

/** @throws Invalid unless the operator repeats the slug */
const requireConfirmed = async (organization: string, { confirm }: EraseOptions): Promise<void> => {
  let typed = confirm;
  if (typed === undefined && process.stdin.isTTY) {
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    typed = await terminal.question(`This erases everything of ${organization} for good. Type the slug again: `);
    terminal.close();
  }
  if (typed !== organization)
    throw new Invalid(`Nothing was erased: repeat the slug with --confirm ${organization}, or type it on a terminal`);
};

const describe = ({ events, rows }: Found): string[] => [
  ...table(['events', 'number'], Object.entries(events)),
  ...table(['rows', 'number'], Object.entries(rows)),
];

const describeErased = ({ certificate, lateRows }: Erased, nodes: readonly string[] | undefined): Result => {
  const { digest, startedAt, finishedAt, version, firstPosition, lastPosition } = certificate;
  const newestCopy = formatInstant(finishedAt);
  const outOfReach = [
    'backups and snapshots of the database, archived WAL, and standbys that do not follow the primary',
    'copies of the log in an EventStoreDB, and nodes that have not been scavenged',
    'exports, dumps, and log files of the processes',
    ...(nodes === undefined
      ? []
      : [
          'link events of system projections of the EventStoreDB, which contain the slug and ids of records in the names of streams',
        ]),
    ...(nodes ?? []).map((node) => `the files of the EventStoreDB at ${node}, until every node behind it is scavenged`),
  ];
  return {
    lines: [
      'Certificate of erasure',
      `digest of log and slug: ${digest}`,
      `started ${formatInstant(startedAt)}, finished ${newestCopy}, version ${version}`,
      firstPosition === undefined
        ? 'no event was rewritten'
        : `events from position ${firstPosition} to ${lastPosition}`,
      ...describe(certificate),
      ...(sumOf(lateRows) === 0
        ? []
        : [
            'Written after the certificate, and erased by this call:',
            ...table(['rows', 'number'], Object.entries(lateRows)),
          ]),
      `Out of reach of this service; the newest possible copy is of ${newestCopy}:`,
      ...outOfReach.map((what) => `- ${what}`),
    ],
    json: {
      ...certificate,
      startedAt: formatInstant(startedAt),
      finishedAt: newestCopy,
      lateRows,
      outOfReach: outOfReach.map((what) => ({ what, newestCopy })),
    },
  };
};

const erase = async (organization: string, options: EraseOptions): Promise<Result> => {
  requireSlug(organization, 'The organization');
  if (options.dryRun === true && options.verify === true)
    throw new Invalid(
      'Give either --dry-run or --verify: both only count, but only --verify fails if anything is left',
    );
  const isChecking = options.dryRun === true || options.verify === true;
  if (!isChecking) await requireConfirmed(organization, options);
  return withProjections(async (session) => {
    const subject = await subjectOf(session.log, organization);
    return withProgress({ events: 'positions', rows: 'rows' }, async (bars) => {
      const onProgress = ({ phase, done, fraction }: ErasureProgress): void => bars[phase].update(done, fraction);
      if (!isChecking)
        return describeErased(
          await eraseOrganization(session, subject, operatorName(), onProgress),
          session.log.eraser?.nodes,
        );
      const found = await findOrganization(session, subject, onProgress);
      const isErased = (await readCertificate(session, subject)) !== undefined;
      if (options.verify === true)
        return {
          lines: isEmpty(found) ? ['Nothing is left in the log and the tables'] : describe(found),
          json: { erased: isErased, left: found },
          failed: !isErased || !isEmpty(found),
        };
      if (isEmpty(found)) throw new NotFound(`Nothing is stored of an organization ${organization}`);
      // The first event of the erasure moves the checkpoints, so they no longer name a stream of the organization.
      const { 'read.checkpoints': _, ...rows } = found.rows;
      const erasable = { ...found, rows };
      return { lines: describe(erasable), json: erasable };
    });
  });
};

export const addEraseCommand = (organizations: Command): void => {
  prints(
    organizations
      .command('erase')
      .argument('<slug>')
      .description('erase everything that the log and the tables have of an organization, and print a certificate')
      .option('--confirm <slug>', 'the slug again, if the call has no terminal')
      .option('--dry-run', 'count the events and rows, and change nothing')
      .option(
        '--verify',
        'check that nothing is left; exits with 1 if anything is, or if the erasure has not finished',
      ),
    erase,
  );
};

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

interface UsageOptions {
  readonly organization?: string;
}

const usage = ({ organization }: UsageOptions): Promise<Result> => {
  if (organization !== undefined) requireSlug(organization, '--organization');
  const { ingestEventsPerDay, ingestBytesPerDay } = readConfig();
  return withDatabase(async (pool) => {
    const day = dayOf(await databaseTime(pool));
    const usages = await readIngestUsage(pool, day, organization);
    const quota = { events: ingestEventsPerDay || null, bytes: ingestBytesPerDay || null };
    say('All API processes share these quotas; each API process applies every other limit on its own');
    return {
      lines: table(
        ['organization', 'day', 'events', 'of', 'bytes', 'of'],
        usages.map((row) => [row.organization, formatDay(day), row.events, quota.events, row.bytes, quota.bytes]),
      ),
      json: { day: formatDay(day), quota, organizations: usages },
    };
  });
};

export const addOrganizationCommands = (program: Command): void => {
  const organizations = program.command('organizations').description('organizations: usage, erase, export, import');
  addEraseCommand(organizations);
  prints(
    organizations
      .command('usage')
      .description('show what each organization has sent today (UTC), up to a second ago, and its daily quota')
      .option('--organization <slug>', 'only this organization'),
    usage,
  );
  addTransferCommands(organizations);
};
