#!/usr/bin/env bash
# Standard Webhooks in JavaScript: verify finds no header in the Headers of a Fetch request.
# Guess: verify(body, request.headers) works in a handler of the Fetch kind, as it does with the headers of node:http.
# Seen with standardwebhooks 1.1.1 and svix 2.5.0: both say "Missing required headers" of a request that has them, as a
# Headers has no property per header. The message blames the sender, whose deliveries fail until it gives up.
# Object.fromEntries(request.headers) works.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent standardwebhooks@1.1.1 svix@2.5.0
cat >seen.mjs <<'JS'
import { Webhook as Standard } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
for (const [name, Webhook] of Object.entries({ standardwebhooks: Standard, svix: Svix })) {
  const webhook = new Webhook(`whsec_${Buffer.alloc(24, 7).toString('base64')}`);
  const now = new Date();
  const sent = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': webhook.sign('msg_1', now, '{}'),
  };
  const { headers } = new Request('http://receiver.example/', { headers: sent });
  const verify = (given) => {
    try { webhook.verify('{}', given); return 'verified'; } catch (error) { return error.message; }
  };
  console.log(`${name}: of the request: ${verify(headers)}; as an object: ${verify(Object.fromEntries(headers))}`);
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
standardwebhooks: of the request: Missing required headers; as an object: verified
svix: of the request: Missing required headers; as an object: verified
TXT
