#!/usr/bin/env bash
# @eventstore/db-client and @kurrent/kurrentdb-client: parts of a connection string are left out without a word.
# Guess: a password with a colon, which a URL allows there, is sent as it is written or refused; `tlsVerifyCert=false`
# connects to a server whose certificate nobody signed, as its name and the other clients promise.
# Seen with @eventstore/db-client 6.2.1 and @kurrent/kurrentdb-client 1.3.1: of `admin:pa:ss@` the server gets the
# password `pa`, so that a right password is "wrong" and nothing says why; only `pa%3Ass` arrives as a whole. And with
# @eventstore/db-client, `tlsVerifyCert=false` changes nothing: the call fails at the certificate, with and without it.
# Its successor heeds the option.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @eventstore/db-client@6.2.1 @kurrent/kurrentdb-client@1.3.1
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
cat >seen.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
console.warn = () => undefined;
const sent = [];
// A server that takes the headers of each call, and implements none.
const server = createSecureServer({ key: readFileSync('key.pem'), cert: readFileSync('cert.pem') });
server.on('stream', (stream, headers) => {
  const user = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString();
  if (headers[':path'].endsWith('/Append')) sent.push(user || 'no user');
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true });
});
await new Promise((resolve) => server.listen(0, resolve));
const append = async (name, user, options) => {
  const { jsonEvent, EventStoreDBClient, KurrentDBClient } = await import(name);
  const url = `esdb://${user}@localhost:${server.address().port}?maxDiscoverAttempts=1&defaultDeadline=3000&${options}`;
  const client = (EventStoreDBClient ?? KurrentDBClient).connectionString(url);
  await client.appendToStream('s', jsonEvent({ type: 't', data: {} })).catch(() => undefined);
  return sent.splice(0)[0] ?? 'nothing arrives';
};
const trusted = `tlsCAFile=${process.cwd()}/cert.pem`;
for (const name of ['@eventstore/db-client', '@kurrent/kurrentdb-client']) {
  for (const user of ['admin:pass', 'admin:pa:ss', 'admin:pa%3Ass'])
    console.log(`${name} ${user}: ${await append(name, user, trusted)}`);
  for (const options of ['tlsVerifyCert=true', 'tlsVerifyCert=false'])
    console.log(`${name} ${options}: ${await append(name, 'admin:pass', options)}`);
}
process.exit(0);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
@eventstore/db-client admin:pass: admin:pass
@eventstore/db-client admin:pa:ss: admin:pa
@eventstore/db-client admin:pa%3Ass: admin:pa:ss
@eventstore/db-client tlsVerifyCert=true: nothing arrives
@eventstore/db-client tlsVerifyCert=false: nothing arrives
@kurrent/kurrentdb-client admin:pass: admin:pass
@kurrent/kurrentdb-client admin:pa:ss: admin:pa
@kurrent/kurrentdb-client admin:pa%3Ass: admin:pa:ss
@kurrent/kurrentdb-client tlsVerifyCert=true: nothing arrives
@kurrent/kurrentdb-client tlsVerifyCert=false: admin:pass
TXT
