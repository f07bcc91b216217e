import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Invalid, NotFound } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import type { BrandRegistered, BrandRemoved } from '../events/brands.js';
import { parseEvent, toJson } from '../events/event.js';
import { appendOperatorChange } from './append-operator-change.js';

/** Registers or renames an organization's brand. The result says whether anything changed. */
export class AddBrand extends Command<boolean> {
  constructor(
    readonly organization: string,
    readonly brand: string,
    readonly name?: string,
  ) {
    super();
  }
}

export class RemoveBrand extends Command<boolean> {
  constructor(
    readonly organization: string,
    readonly brand: string,
  ) {
    super();
  }
}

type BrandChanged = BrandRegistered | BrandRemoved;

/** @throws Invalid if the ingestion endpoint would reject the event */
const checked = (event: BrandChanged): BrandChanged => {
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};

const brandEvent = (
  type: BrandChanged['type'],
  { organization, brand, name }: { organization: string; brand: string; name?: string | undefined },
  updatedAt: number,
): BrandChanged => checked({ type, data: { organization, brand, name, updatedAt } });

@CommandHandler(AddBrand)
export class AddBrandHandler implements ICommandHandler<AddBrand> {
  constructor(private readonly log: EventLog) {}

  /** @throws Invalid */
  execute(command: AddBrand): Promise<boolean> {
    return appendOperatorChange<BrandChanged>(this.log, brandEvent('BrandRegistered', command, 0), (newest, now) => {
      const registered = newest?.type === 'BrandRegistered' ? newest : undefined;
      const name = command.name ?? registered?.data.name;
      if (registered && registered.data.name === name) return undefined;
      return brandEvent('BrandRegistered', { ...command, name }, now);
    });
  }
}

@CommandHandler(RemoveBrand)
export class RemoveBrandHandler implements ICommandHandler<RemoveBrand> {
  constructor(private readonly log: EventLog) {}

  /** @throws Invalid, or NotFound if the organization has no such brand */
  execute(command: RemoveBrand): Promise<boolean> {
    return appendOperatorChange<BrandChanged>(this.log, brandEvent('BrandRemoved', command, 0), (newest, now) => {
      if (newest?.type !== 'BrandRegistered')
        throw new NotFound(`${command.organization} has no brand ${command.brand}`);
      return brandEvent('BrandRemoved', { ...command, name: newest.data.name }, now);
    });
  }
}
