import { ownEvent } from '../declaring/declaration.js';
import { id, instant, text } from '../declaring/fields.js';

/** The first event of every log. A checkpoint is valid only for the log whose id this event contains. */
export const logOpened = ownEvent('LogOpened', {
  logId: id("The log's id."),
  createdAt: instant('When the log was opened.'),
});

/** An operator dropped a parked event, so that a rebuild does not park the event again. */
export const parkedEventDropped = ownEvent('ParkedEventDropped', {
  projection: id('The projection that parked the event.'),
  eventId: id('The parked event.'),
  reason: text(1_000, 'Why the event was dropped.'),
  createdAt: instant('When the event was dropped.'),
});
