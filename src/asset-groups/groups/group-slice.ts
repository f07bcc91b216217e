import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { EventLog } from '../../event-log/event-log.js';
import { TimeSlices, type Work } from '../../flow/time-slices.js';
import { READ_COUNTS, READ_GROUPS } from './statements.js';
import { readTail } from './group-tail.js';

/** Groups in order of id, from one snapshot. */
export interface GroupSlice {
  /** The items of a JSON array without the brackets; empty if there are no groups. */
  readonly json: string;
  /** The id after which the next slice begins; undefined for the last slice. */
  readonly next: number | undefined;
  /** The slice includes everything up to this position of the log. */
  readonly position: number;
}

export interface SliceRequest {
  readonly organization: string;
  /** The id after which the slice begins. */
  readonly after: number;
  /** The approximate size limit of the slice, in bytes. */
  readonly maxBytes: number;
  /**
   * Maximum number of rows to read. Rows that do not fit into the slice are read unnecessarily; with too few rows, the
   * slice is shorter than `maxBytes`.
   */
  readonly maxRows: number;
}

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

const TIME_LIMIT_MS = 2_500;
/** Number of groups that are written between two points where the work may be paused. */
const GROUPS_PER_STEP = 50;

/** Reads an organization's groups in slices: the rows of the read model, with the later events of the stream applied. */
@Injectable()
export class GroupSlices {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly slices: TimeSlices,
  ) {}

  /** @throws Unavailable if the read model is too far behind, or the log is unavailable */
  async read({ organization, after, maxBytes, maxRows }: SliceRequest): Promise<GroupSlice> {
    const rows = await READ_GROUPS.run(this.pool, { organization, after, maxRows, maxBytes }, TIME_LIMIT_MS);
    const model = rows.flatMap(({ id, name, n }) => (id === null ? [] : [{ id, name: name!, assetCount: n ?? 0 }]));
    const last = rows.at(-1)!;
    const isTruncated = model.length === maxRows || (last.bytes ?? 0) >= maxBytes;
    const end = isTruncated ? last.id! : Number.POSITIVE_INFINITY;
    const tail = await readTail(this.log, organization, BigInt(last.revision ?? -1));
    const changes = [...tail.groups.nameById].filter(([id]) => id > after && id <= end);
    const groups = changes.length === 0 ? model : await this.applyChanges(organization, model, changes);
    const written = await this.slices.run(organization, write(groups, maxBytes, isTruncated ? end : undefined));
    return { ...written, position: last.position };
  }

  /** @param changes the new names by id; undefined if the group was deleted */
  private async applyChanges(
    organization: string,
    model: readonly Group[],
    changes: readonly (readonly [id: number, name: string | undefined])[],
  ): Promise<Group[]> {
    const groups = new Map(model.map((group) => [group.id, group]));
    const unknown = changes.flatMap(([id, name]) => (name === undefined || groups.has(id) ? [] : [id]));
    const counts = unknown.length === 0 ? [] : await READ_COUNTS.run(this.pool, { organization, ids: unknown });
    const assets = new Map(counts.map(({ id, n }) => [id, n]));
    for (const [id, name] of changes)
      if (name === undefined) groups.delete(id);
      else groups.set(id, { id, name, assetCount: groups.get(id)?.assetCount ?? assets.get(id) ?? 0 });
    return [...groups.values()].sort((a, b) => a.id - b.id);
  }
}

/** @param next the id after which the read model has more groups; undefined if the read model has no more groups */
function* write(
  groups: readonly Group[],
  maxBytes: number,
  next: number | undefined,
): Work<Omit<GroupSlice, 'position'>> {
  let json = '';
  for (const [index, { id, name, assetCount }] of groups.entries()) {
    // The text has at least as many bytes as UTF-16 units, so this test never ends a slice before `maxBytes`.
    if (json.length >= maxBytes) return { json, next: groups[index - 1]!.id };
    json += `${index === 0 ? '' : ','}{"id":${id},"name":${JSON.stringify(name)},"assetCount":${assetCount}}`;
    if (index % GROUPS_PER_STEP === 0) yield;
  }
  return { json, next };
}
