// Receives webhooks: receive.ts PORT, the secret (whsec_…) in WEBHOOK_SECRET. Needs the package standardwebhooks.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env['WEBHOOK_SECRET']!);
const done = new Set<string>(); // Keep it with your data: a delivery may come twice, under the same webhook-id.
const server = createServer(async (request, response) => {
  const headers = request.headers as Record<string, string>;
  try {
    const body = Buffer.concat(await request.toArray()).toString();
    const records = [webhook.verify(body, headers)].flat() as { subject: string }[];
    if (!done.has(headers['webhook-id']!)) for (const { subject } of records) console.log(subject);
    done.add(headers['webhook-id']!);
    response.writeHead(204).end(); // Only once it is stored: without a 2xx it comes again.
  } catch {
    response.writeHead(401).end();
  }
});
server.listen(Number(process.argv[2]), '127.0.0.1');
