import type { Fields } from './fields.js';

/** The first event of every log. A checkpoint is worth something only for the log it was taken from. */
export interface LogOpened {
  readonly type: 'LogOpened';
  readonly data: { readonly logId: string; readonly createdAt: number };
}

/** An operator decided that a parked event is not to be applied, so that a rebuild does not park it again. */
export interface ParkedEventDropped {
  readonly type: 'ParkedEventDropped';
  readonly data: {
    readonly projection: string;
    readonly eventId: string;
    readonly reason: string;
    readonly createdAt: number;
  };
}

export const logOpened = (fields: Fields): LogOpened['data'] => ({
  logId: fields.id('logId'),
  createdAt: fields.instant('createdAt'),
});

export const parkedEventDropped = (fields: Fields): ParkedEventDropped['data'] => ({
  projection: fields.id('projection'),
  eventId: fields.id('eventId'),
  reason: fields.text('reason', 1_000),
  createdAt: fields.instant('createdAt'),
});
