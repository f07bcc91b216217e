import type { Generated } from 'kysely';
import type { RowsByTable } from '../organization-rows.js';

/** The local lists that clients keep. Hashes are 8 bytes each, sorted. */
export interface ListTables {
  /** The newest version of each list. */
  'service.lists': {
    name: string;
    number: number;
    /** The checksum of all hashes. */
    sha256: Buffer;
    /** The sources that the lists contain. */
    covers: unknown;
    not_covered: unknown;
    /** The version has everything that was stored before this instant, in ms. Moves on at least hourly. */
    cut_at: number;
    signature: Buffer | null;
    /** Base64. Absent: the version is not signed. */
    public_key: string | null;
    /** When the version was last found to be current, in ms. */
    checked_at: number;
    /** Whether `list_names` has the names of what is listed. */
    has_names: Generated<boolean>;
  };
  /** What each version removed from the version before, and added. Version 0 is the empty list and has no row. */
  'service.list_versions': {
    name: string;
    number: number;
    /** When the version was built, in ms. */
    cut_at: number;
    sha256: Buffer;
    removed: Buffer;
    added: Buffer;
    /** All hashes of the version. Only one version of a list has them. */
    hashes: Buffer | null;
  };
  /** The expressions behind hashes, for clients that need names or whole hashes. Only those that such clients can use. */
  'service.list_names': {
    hash: Buffer;
    /** Whether `ask-8b` has the expression; otherwise another list. */
    is_ask: boolean;
    expression: string;
    /** The host, written backwards, at or below which something is not blocked. Absent: the content is blocked. */
    exception_host: string | null;
    /**
     * The hash of the asset whose own status it is, by which a redaction finds the name; empty for an entry of a list. Absent
     * if a redaction could not find it: the row is then deleted once no list has the expression.
     */
    asset_hash: string | null;
    /** Since when no list has the expression, in ms. */
    unlisted_at: number | null;
  };
}

export const ROWS_OF_LISTS: RowsByTable<ListTables> = {
  'service.lists': [],
  'service.list_versions': [],
  'service.list_names': [],
};
