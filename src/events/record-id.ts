import { kindOf } from './listed-items.js';
import { uuidOf } from './streams.js';

/**
 * Returns the UUIDv5 of a record of an organization, which is also that of the record's object in TAXII. It never changes:
 * clients and tables contain it.
 * @param kind as in `listed-items.ts`
 */
export const recordId = (record: {
  readonly organization: string;
  readonly kind: number;
  readonly id: string;
}): string => uuidOf(`taxii\n${record.organization}\n${kindOf(record.kind)}\n${record.id}`);
