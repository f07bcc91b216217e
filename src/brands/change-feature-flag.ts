import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Invalid } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import type { FeatureFlagChanged } from '../events/brands.js';
import { parseEvent, toJson } from '../events/event.js';
import { appendOperatorChange } from './append-operator-change.js';

/** Turns a feature flag on or off. The result says whether anything changed. */
export class ChangeFeatureFlag extends Command<boolean> {
  constructor(
    readonly organization: string,
    readonly flag: string,
    readonly enabled: boolean,
  ) {
    super();
  }
}

/** @throws Invalid if the ingestion endpoint would reject the event */
const flagEvent = ({ organization, flag, enabled }: ChangeFeatureFlag, updatedAt: number): FeatureFlagChanged => {
  const event: FeatureFlagChanged = { type: 'FeatureFlagChanged', data: { organization, flag, enabled, updatedAt } };
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};

@CommandHandler(ChangeFeatureFlag)
export class ChangeFeatureFlagHandler implements ICommandHandler<ChangeFeatureFlag> {
  constructor(private readonly log: EventLog) {}

  /** @throws Invalid */
  execute(command: ChangeFeatureFlag): Promise<boolean> {
    return appendOperatorChange<FeatureFlagChanged>(this.log, flagEvent(command, 0), (newest, now) =>
      (newest?.data.enabled ?? false) === command.enabled ? undefined : flagEvent(command, now),
    );
  }
}
