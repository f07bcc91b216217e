#!/usr/bin/env bash
# ratelimit-header-parser: the headers of draft 8 give numbers that are no numbers and a date that is none.
# Guess: the parser of the makers of express-rate-limit reads what express-rate-limit sends, or returns undefined as for
# headers without a limit.
# Seen with ratelimit-header-parser 0.1.0 and express-rate-limit 8.7.5: drafts 6 and 7 are read; for draft 8 there is an
# object with NaN and an invalid date. Every comparison with NaN is false, so that a client that waits when `remaining`
# is below 1 never waits, and a timer until `reset` runs out at once: it repeats the refused request without a pause.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent express@5.2.1 express-rate-limit@8.7.5 ratelimit-header-parser@0.1.0
cat >seen.mjs <<'JS'
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { parseRateLimit } from 'ratelimit-header-parser';
for (const standardHeaders of ['draft-6', 'draft-7', 'draft-8']) {
  const app = express().use(rateLimit({ limit: 10, standardHeaders, legacyHeaders: false }));
  const server = app.get('/', (_, response) => response.end()).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const { headers } = await fetch(`http://127.0.0.1:${server.address().port}/`);
  const { limit, remaining, reset } = parseRateLimit(headers);
  console.log(`${standardHeaders}: limit ${limit}, remaining ${remaining}, reset ${isNaN(reset) ? reset : 'in time'}`);
  server.close();
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
draft-6: limit 10, remaining 9, reset in time
draft-7: limit 10, remaining 9, reset in time
draft-8: limit NaN, remaining NaN, reset Invalid Date
TXT
