// Sends the event in the first argument and reads the metrics that include it. The key in THREAT_PROTECTION_API_KEY has
// the scopes ingest and read.
let token: string | undefined;

/** The seconds of a header; 1 if it is no number, such as the date that a proxy may send. */
const waitOf = (sent: unknown): number => Math.min(Math.max(1, Number(sent) || 1), 3_600);

const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
  for (let tries = 1; ; tries += 1) {
    const headers = new Headers({
      'X-API-KEY': process.env.THREAT_PROTECTION_API_KEY!,
      Prefer: 'wait=10',
      ...init.headers,
    });
    if (token !== undefined) headers.set('Consistency-Token', token);
    const answer = await fetch(`http://127.0.0.1:3000/v2${path}`, { ...init, headers, redirect: 'error' });
    if (answer.status === 410 && token !== undefined) {
      token = undefined;
    } else if (answer.status === 503 && tries < 5) {
      await new Promise((resolve) => setTimeout(resolve, 1_000 * waitOf(answer.headers.get('Retry-After'))));
    } else {
      token = answer.headers.get('Consistency-Token') ?? token;
      return answer;
    }
  }
};

const sent = await call('/events', {
  method: 'POST',
  headers: { 'Content-Type': 'application/cloudevents+json' },
  body: process.argv[2],
});
console.log(await sent.text());
console.log(await (await call('/organization/metrics')).text());
