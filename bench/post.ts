import { type Agent, request } from 'node:http';

const BATCH_TYPE = 'application/cloudevents-batch+json';

interface Accepted {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly unknown[];
}

/** An acknowledgement with its `Consistency-Token`. */
interface Acknowledged extends Accepted {
  readonly token: string;
}

/** Posts events to the ingestion endpoint. @throws Error if the status is not 200 */
export const post = (agent: Agent, url: string, key: string, body: Buffer, type = BATCH_TYPE): Promise<Acknowledged> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': type, 'content-length': body.length, 'x-api-key': key };
    const sent = request(`${url}/v2/events`, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const token = String(response.headers['consistency-token']);
        if (response.statusCode === 200) resolve({ ...(JSON.parse(text) as Accepted), token });
        else reject(new Error(`POST /v2/events returned ${response.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    sent.on('error', reject).end(body);
  });
