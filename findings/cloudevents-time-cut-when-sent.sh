#!/usr/bin/env bash
# CloudEvents SDK for JavaScript: an event's time is cut to milliseconds and moved to UTC when the event is sent on.
# Guess: a text in RFC 3339 that event.time returns as it came is also sent as it came.
# Seen with cloudevents 10.0.0: event.time keeps all digits and the offset; every form that is sent has three digits and
# Z. A relay that reads and sends events loses the order of two events within a millisecond, and a receiver that
# compares or hashes what it was sent takes the relayed event for another one than the one that came directly.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent cloudevents@10.0.0
cat >seen.mjs <<'JS'
import { CloudEvent, HTTP } from 'cloudevents';
for (const microseconds of ['123400', '123900']) {
  const time = `2026-03-01T10:00:00.${microseconds}+02:00`;
  const event = new CloudEvent({ id: microseconds, source: '/lists', type: 'listed', time });
  console.log('in the program:', event.time);
  console.log('binary:', HTTP.binary(event).headers['ce-time']);
  console.log('structured:', JSON.parse(HTTP.structured(event).body).time);
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
in the program: 2026-03-01T10:00:00.123400+02:00
binary: 2026-03-01T08:00:00.123Z
structured: 2026-03-01T08:00:00.123Z
in the program: 2026-03-01T10:00:00.123900+02:00
binary: 2026-03-01T08:00:00.123Z
structured: 2026-03-01T08:00:00.123Z
TXT
