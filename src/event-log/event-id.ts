import { v5 } from 'uuid';

/** The event id of a CloudEvent: UUIDv5, namespace URL, of `source` + newline + `id`. Equal pairs are one event. */
export const eventIdOf = (source: string, id: string): string => v5(`${source}\n${id}`, v5.URL);
