import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { Invalid, NotFound } from '../../errors.js';
import { formatInstant } from '../../events/instant.js';
import { operatorName } from '../runtime/operator-name.js';
import { prints, type Result, table } from '../runtime/output.js';
import { withProgress } from '../runtime/progress.js';
import { requireSlug } from '../runtime/slug.js';
import { withProjections } from '../projections.js';
import { type Erased, eraseOrganization } from './erase-organization.js';
import { type ErasureProgress, findOrganization, type Found, isEmpty, sumOf } from './find-organization.js';
import { readCertificate } from './read-certificate.js';
import { subjectOf } from './subject.js';

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
