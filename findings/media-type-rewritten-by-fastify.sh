#!/usr/bin/env bash
# Fastify 5: a media type with a parameter is rewritten if the body is a text, and kept if it is a buffer.
# Guess: reply.type('application/taxii+json;version=2.1') is sent as it was written.
# Seen with fastify 5.12.8: for texts and objects the parameter is quoted, spaces are added, and a charset is appended,
# which the media type does not define. A client that compares the media type of a TAXII 2.1 server with the one of the
# standard as a text refuses such a response. A buffer is sent with the type as written.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent fastify@5.12.8
cat >seen.mjs <<'JS'
import fastify from 'fastify';
const app = fastify();
for (const [name, body] of [['text', '{}'], ['object', {}], ['buffer', Buffer.from('{}')]])
  app.get(`/${name}`, (_, reply) => reply.type('application/taxii+json;version=2.1').send(body));
for (const name of ['text', 'object', 'buffer'])
  console.log(`${name}:`, (await app.inject({ url: `/${name}` })).headers['content-type']);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
text: application/taxii+json; version="2.1"; charset=utf-8
object: application/taxii+json; version="2.1"; charset=utf-8
buffer: application/taxii+json;version=2.1
TXT
