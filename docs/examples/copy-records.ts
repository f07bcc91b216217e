// Keeps a copy of an organization's records in records.json, by the feed, until it is stopped. The first argument is
// the address of the service; the key is in THREAT_PROTECTION_API_KEY.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** The seconds of a header; 1 if it is no number, such as the date that a proxy may send. */
const waitOf = (sent: unknown): number => Math.min(Math.max(1, Number(sent) || 1), 3_600);

const SERVICE = process.argv[2] ?? 'http://127.0.0.1:3000';
const FILE = 'records.json';
let kept = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : { records: {} };
for (;;) {
  const query = new URLSearchParams({ timeout: '20000', ...(kept.last && { lastEventId: kept.last }) });
  const url = `${SERVICE}/v2/organization/feed?${query}`;
  const answer = await fetch(url, {
    headers: { 'X-API-KEY': process.env.THREAT_PROTECTION_API_KEY! },
    redirect: 'manual', // the key goes to no other address
  }).catch(() => undefined);
  const { status = 0 } = answer ?? {};
  if (status >= 300 && status < 500 && ![408, 410, 429].includes(status))
    throw new Error(`${status} ${await answer!.text()}`); // such as an invalid key: a retry would not help
  const elements = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  if (status === 410) kept = { records: {} };
  else if (elements === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 1_000 * waitOf(answer?.headers.get('retry-after'))));
    continue;
  } else if (elements.length === 0) continue;
  for (const { id, type, subject, data } of elements ?? []) {
    if (data) kept.records[`${type} ${subject}`] = data;
    else delete kept.records[`${type} ${subject}`];
    kept.last = id;
  }
  writeFileSync(`${FILE}.new`, JSON.stringify(kept));
  renameSync(`${FILE}.new`, FILE); // an answer's records and its last id, both or neither
}
