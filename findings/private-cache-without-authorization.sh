#!/usr/bin/env bash
# undici: its private cache does not store what was asked with the header Authorization and is `private, no-cache`.
# Guess: interceptors.cache({ type: 'private' }) keeps a response with an ETag and asks again with If-None-Match, as a
# cache of one user may: RFC 9111, section 3.5, forbids it to shared caches only.
# Seen with undici 7.30.2: without Authorization it does; with it the server gets no If-None-Match and sends the whole
# body each time, even within max-age. Only `must-revalidate` or `public` makes it store the response. A client that
# polls an API with a key gets every byte each time although its cache is on, and nothing tells.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent undici@7.30.2
cat >seen.mjs <<'JS'
import { createServer } from 'node:http';
import { Agent, interceptors, request } from 'undici';
let asked;
const server = createServer((request, response) => {
  asked.push(request.headers['if-none-match'] ? 'revalidated' : 'whole body');
  response.setHeader('etag', '"1"').setHeader('cache-control', decodeURIComponent(request.url.slice(1).split('?')[0]));
  if (request.headers['if-none-match']) response.writeHead(304).end();
  else response.end('[]');
}).listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const dispatcher = new Agent().compose(interceptors.cache({ type: 'private' }));
for (const control of ['private, max-age=0, must-revalidate', 'private, no-cache', 'private, max-age=60'])
  for (const headers of [{}, { authorization: 'Bearer key' }]) {
    asked = [];
    const url = `http://127.0.0.1:${server.address().port}/${encodeURIComponent(control)}?${headers.authorization}`;
    for (let i = 0; i < 2; i++) await (await request(url, { dispatcher, headers })).body.text();
    console.log(`${control}, ${headers.authorization ? 'with' : 'no'} Authorization: ${asked.join(', then ')}`);
  }
process.exit();
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
private, max-age=0, must-revalidate, no Authorization: whole body, then revalidated
private, max-age=0, must-revalidate, with Authorization: whole body, then revalidated
private, no-cache, no Authorization: whole body, then revalidated
private, no-cache, with Authorization: whole body, then whole body
private, max-age=60, no Authorization: whole body
private, max-age=60, with Authorization: whole body, then whole body
TXT
