import { readUrl } from '../../runtime/read-url.js';
import { tryWriteLines } from '../../runtime/terminal.js';
import type { Endpoint } from './endpoint.js';
import type { Attempted } from './progress-writer.js';

/**
 * One line of JSON per request, as of the access log. Of the address only the origin is in it: paths and queries of such
 * addresses often hold secrets.
 */
export class DeliveryLog {
  private lost = 0;

  constructor(private readonly isOn: boolean) {}

  add(
    { organization, webhookId: endpoint, url }: Endpoint,
    { at, webhookId, records, answer, took, setAside }: Attempted,
  ): void {
    if (!this.isOn) return;
    const line = {
      time: new Date(at).toISOString(),
      level: 'info',
      context: 'delivery',
      organization,
      endpoint,
      origin: readUrl(url)?.origin ?? null,
      webhookId,
      records,
      status: answer.status ?? null,
      error: answer.error ?? null,
      ms: took,
      ...(setAside && { setAside }),
      ...(this.lost > 0 && { linesLost: this.lost }),
    };
    // Standard output that nobody reads must not keep deliveries waiting.
    if (tryWriteLines(`${JSON.stringify(line)}\n`)) this.lost = 0;
    else this.lost += 1;
  }
}
