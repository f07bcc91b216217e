import { Invalid } from '../errors.js';
import { type DomainEvent, parseEvent, toJson } from '../events/event.js';

/** @throws Invalid if the event's data is not what its type allows, with what is wrong by the names of its fields */
export const requireValid = <Event extends DomainEvent>(event: Event): Event => {
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};
