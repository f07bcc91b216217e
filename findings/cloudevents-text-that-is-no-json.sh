#!/usr/bin/env bash
# CloudEvents SDK for JavaScript: data that is a text is sent as application/json without being JSON.
# Guess: HTTP.binary writes data of the type application/json as JSON, so that a text gets its quotes.
# Seen with cloudevents 10.0.0: an object becomes JSON, a text is the body as it is. A receiver in another language
# refuses the body of "evil.example", and reads a number for "12". The SDK reads its own
# message back, so that tests with the SDK on both sides pass; the structured form is right.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent cloudevents@10.0.0
cat >seen.mjs <<'JS'
import { CloudEvent, HTTP } from 'cloudevents';
const read = (body) => {
  try { return typeof JSON.parse(body); } catch { return 'no JSON'; }
};
for (const data of ['evil.example', 'true', '12', { host: 'evil.example' }]) {
  const datacontenttype = 'application/json';
  const event = new CloudEvent({ id: '1', source: '/lists', type: 'listed', datacontenttype, data });
  const { headers, body } = HTTP.binary(event);
  const structured = JSON.parse(HTTP.structured(event).body).data;
  const bySdk = HTTP.toEvent({ headers, body }).data;
  console.log(`${typeof data}: ${headers['content-type']} ${body}`);
  console.log(`  JSON.parse: ${read(body)}, SDK: ${typeof bySdk}, structured form: ${typeof structured}`);
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
string: application/json evil.example
  JSON.parse: no JSON, SDK: string, structured form: string
string: application/json true
  JSON.parse: boolean, SDK: string, structured form: string
string: application/json 12
  JSON.parse: number, SDK: string, structured form: string
object: application/json {"host":"evil.example"}
  JSON.parse: object, SDK: object, structured form: object
TXT
