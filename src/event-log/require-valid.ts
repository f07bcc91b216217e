import { Invalid } from '../errors.js';
import { type DomainEvent, parseEvent, toJson } from '../events/event.js';

/** Returns the event. @throws Invalid if its data does not match its type, with one issue per wrong field */
export const requireValid = <Event extends DomainEvent>(event: Event): Event => {
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};
