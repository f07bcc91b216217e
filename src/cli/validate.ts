import type { Command } from 'commander';
import { HttpException } from '@nestjs/common';
import { Invalid } from '../errors.js';
import { SLUG } from '../events/declaring/fields.js';
import { finish } from '../flow/time-slices.js';
import { readEvents, STRUCTURED } from '../ingestion/receive/content-mode.js';
import { decide } from '../ingestion/receive/decide-events.js';
import { latestFrom } from '../ingestion/receive/event-limits.js';
import { EventLines } from '../replay/event-lines.js';
import { requireReadable } from '../replay/readable-files.js';
import type { Refusal } from '../replay/send-events.js';
import { prints, type Result } from './runtime/output.js';

interface ValidateOptions {
  readonly organization?: string;
}

/** Lines that are shown of the rejected ones, and of those with warnings; more are only counted. */
const MAX_SHOWN = 1_000;

/** What is wrong with a line, and what looks wrong. */
interface Checked {
  readonly id?: string | undefined;
  readonly issues: readonly string[];
  readonly warnings: readonly string[];
}

/** Checks an event as the endpoint does, with a key of this organization, or one of none. */
const check = (json: string, organization: string | undefined): Checked => {
  const latest = latestFrom(organization);
  const body = Buffer.from(json);
  if (!json.trimStart().startsWith('{')) return { issues: ['the line must be one event, a JSON object'], warnings: [] };
  try {
    const events = readEvents({ 'content-type': [STRUCTURED] }, body, latest);
    const { rejected, warnings } = finish(decide({ events, latest, organization, origin: {} }));
    const messages = (found: typeof rejected): string[] =>
      found.flatMap(({ issues }) => issues.map((each) => each.message));
    return { id: [...rejected, ...warnings][0]?.id, issues: messages(rejected), warnings: messages(warnings) };
  } catch (error) {
    if (!(error instanceof Invalid || error instanceof HttpException)) throw error;
    return { issues: [error.message], warnings: [] };
  }
};

/** Lines with something to say, the first ones kept. */
class Notes {
  count = 0;
  readonly shown: Refusal[] = [];

  add(note: Refusal): void {
    this.count += 1;
    if (this.shown.length < MAX_SHOWN) this.shown.push(note);
  }

  get lines(): string[] {
    const lines = this.shown.map(
      ({ place, id, issues }) => `${place}${id === undefined ? '' : ` ${id}`}: ${issues.join('; ')}`,
    );
    return this.count > lines.length ? [...lines, `and ${this.count - lines.length} more`] : lines;
  }
}

const validate = async (files: readonly string[], { organization }: ValidateOptions): Promise<Result> => {
  if (organization !== undefined && !SLUG.test(organization))
    throw new Invalid('--organization must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -');
  await requireReadable(files);
  const lines = new EventLines(files, 0);
  const [rejected, warnings] = [new Notes(), new Notes()];
  let valid = 0;
  const takeUnreadable = (): void => {
    for (const refused of lines.refused.splice(0)) rejected.add(refused);
  };
  for await (const { json, place } of lines.events()) {
    takeUnreadable();
    const { id, issues, warnings: doubts } = check(json, organization);
    if (issues.length > 0) rejected.add({ place, ...(id !== undefined && { id }), issues });
    else valid += 1;
    if (doubts.length > 0) warnings.add({ place, ...(id !== undefined && { id }), issues: doubts });
  }
  takeUnreadable();
  return {
    lines: [
      `valid ${valid}`,
      `rejected ${rejected.count}`,
      ...rejected.lines,
      ...(warnings.count > 0 ? [`warnings ${warnings.count}`, ...warnings.lines] : []),
    ],
    json: {
      valid,
      rejected: rejected.count,
      rejectedLines: rejected.shown,
      warnings: warnings.count,
      warnedLines: warnings.shown,
    },
    failed: rejected.count > 0,
  };
};

export const addValidate = (program: Command): void => {
  prints(
    program
      .command('validate')
      .argument('<file...>', 'CloudEvents, one JSON object a line; - is standard input; .gz is unpacked')
      .description('check events as POST /v2/events does, without a server; exits with 1 if one would be rejected')
      .option('--organization <slug>', 'check them as events of this organization’s own key'),
    validate,
  );
};
