import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, sendRequest } from './http-request.js';
import { repeat } from './repeat.js';
import type { RunContext } from './run-context.js';

const EVERY_MS = 100;

interface Envelope {
  readonly more: boolean;
  readonly next?: string;
  readonly objects?: readonly { readonly external_references: readonly { readonly external_id: string }[] }[];
}

/**
 * A copy of the indicators of an organization's threats, updated as a TAXII client does: pages by `next`, then `added_after`
 * with the date of the last object. After a 410 it goes on from that date.
 */
export class TaxiiCopy {
  private readonly known = new Set<string>();
  private addedAfter: string | undefined;
  private next: string | undefined;
  /** Ends the updates. */
  readonly stop: () => Promise<void>;

  constructor(
    context: RunContext,
    private readonly url: string,
    private readonly key: string,
  ) {
    this.stop = repeat(context, () => this.update());
  }

  has(threat: string): boolean {
    return this.known.has(threat);
  }

  private async update(): Promise<void> {
    const from = this.addedAfter === undefined ? '' : `added_after=${this.addedAfter}&`;
    const query = this.next === undefined ? `${from}limit=7` : `next=${encodeURIComponent(this.next)}`;
    const url = `${this.url}/taxii2/api/collections/threats/objects/?${query}`;
    const response = await sendRequest(url, { key: this.key }).catch(() => undefined);
    if (response?.status === 200) this.take(response);
    else if (response?.status === 410) this.next = undefined;
    if (this.next === undefined) await sleep(EVERY_MS);
  }

  private take({ body, headers }: HttpResponse): void {
    const { more, next, objects = [] } = body as Envelope;
    for (const { external_references: references } of objects) this.known.add(references[0]!.external_id);
    this.addedAfter = (headers['x-taxii-date-added-last'] as string | undefined) ?? this.addedAfter;
    this.next = more ? next : undefined;
  }
}
