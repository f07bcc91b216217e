import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import { TimeSlices, type Work } from '../../flow/time-slices.js';
import type { Origin } from '../../http/access/origin.js';
import { type MembershipItem, type ReadContent, readContent } from './membership.js';
import { MembershipQueue } from './membership-queue.js';

/** Adds assets to a group or removes them. The result has one item per content, in order. */
export class ChangeMembership extends Command<AtPosition<readonly MembershipItem[]>> {
  constructor(
    readonly action: 'add' | 'remove',
    readonly organization: string,
    readonly groupId: number,
    readonly contents: readonly unknown[],
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(ChangeMembership)
export class ChangeMembershipHandler implements ICommandHandler<ChangeMembership> {
  constructor(
    private readonly queue: MembershipQueue,
    private readonly slices: TimeSlices,
  ) {}

  async execute({ origin, ...request }: ChangeMembership): Promise<AtPosition<readonly MembershipItem[]>> {
    const contents = await this.slices.run(request.organization, parseAll(request.contents));
    return this.queue.execute({ ...request, contents }, origin);
  }
}

function* parseAll(contents: readonly unknown[]): Work<readonly ReadContent[]> {
  const parsed: ReadContent[] = [];
  for (const content of contents) {
    parsed.push(readContent(content));
    yield;
  }
  return parsed;
}
