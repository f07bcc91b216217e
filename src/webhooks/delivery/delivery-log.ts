import { readUrl } from '../../runtime/read-url.js';
import { tryWriteLines } from '../../runtime/terminal.js';
import type { Endpoint } from './endpoint.js';
import type { DeliveryAttempt } from './progress-writer.js';

/**
 * Writes one line of JSON per request, in the format of the access log. A line contains only the origin of the URL,
 * because the paths and queries of webhook URLs often contain secrets.
 */
export class DeliveryLog {
  private lost = 0;

  constructor(private readonly isOn: boolean) {}

  add(
    { organization, webhookId: endpoint, url }: Endpoint,
    { at, deliveryId, records, response, durationMs, setAside }: DeliveryAttempt,
  ): void {
    if (!this.isOn) return;
    const line = {
      time: new Date(at).toISOString(),
      level: 'info',
      context: 'delivery',
      organization,
      endpoint,
      origin: readUrl(url)?.origin ?? null,
      webhookId: deliveryId,
      records,
      status: response.status ?? null,
      error: response.error ?? null,
      ms: durationMs,
      ...(setAside && { setAside }),
      ...(this.lost > 0 && { linesLost: this.lost }),
    };
    // A full pipe behind standard output must not block deliveries, so lines are dropped and counted.
    if (tryWriteLines(`${JSON.stringify(line)}\n`)) this.lost = 0;
    else this.lost += 1;
  }
}
