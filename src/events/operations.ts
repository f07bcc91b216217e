import { ownEvent } from './declaration.js';
import { id, instant, text } from './fields.js';

/** The first event of every log. A checkpoint is worth something only for the log it was taken from. */
export const logOpened = ownEvent('LogOpened', {
  logId: id('Names the log.'),
  createdAt: instant('When it was opened.'),
});

/** An operator decided that a parked event is not to be applied, so that a rebuild does not park it again. */
export const parkedEventDropped = ownEvent('ParkedEventDropped', {
  projection: id('The projection that parked it.'),
  eventId: id('The parked event.'),
  reason: text(1_000, 'Why it was dropped.'),
  createdAt: instant('When it was dropped.'),
});
