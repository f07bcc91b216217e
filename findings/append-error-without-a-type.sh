#!/usr/bin/env bash
# Clients of EventStoreDB and KurrentDB: a failed append of an unreachable server has no type, a failed read has one.
# Guess: every operation rejects with UnavailableError, whose type is ErrorType.UNAVAILABLE, as the types export it.
# Seen with @kurrent/kurrentdb-client 1.3.1 and @eventstore/db-client 6.2.1: readStream and subscriptions do; an append
# rejects with an Error of gRPC that has a code and no type, since the question which features the server has comes
# first. Code that repeats what is UNAVAILABLE repeats reads and loses writes. Test code === 14 as well.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @kurrent/kurrentdb-client@1.3.1 @eventstore/db-client@6.2.1
cat >seen.mjs <<'JS'
import * as kurrent from '@kurrent/kurrentdb-client';
import * as eventstore from '@eventstore/db-client';
import { createServer } from 'node:net';
const server = createServer().listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const { port } = server.address();
await new Promise((closed) => server.close(closed));
const shown = ({ constructor, type, code }) => `${constructor.name}, type ${type}, code ${code}`;
for (const [name, library, Client, scheme] of [
  ['kurrentdb', kurrent, kurrent.KurrentDBClient, 'kurrentdb'],
  ['eventstore', eventstore, eventstore.EventStoreDBClient, 'esdb'],
]) {
  const client = Client.connectionString([`${scheme}://127.0.0.1:${port}?tls=false`]);
  const event = library.jsonEvent({ type: 'listed', data: {} });
  const attempts = {
    readStream: async () => { for await (const _ of client.readStream('lists')); },
    subscribeToAll: async () => { for await (const _ of client.subscribeToAll()); },
    getStreamMetadata: () => client.getStreamMetadata('lists'),
    deleteStream: () => client.deleteStream('lists'),
    setStreamMetadata: () => client.setStreamMetadata('lists', {}),
    appendToStream: () => client.appendToStream('lists', [event]),
  };
  for (const [operation, attempt] of Object.entries(attempts))
    console.log(`${name} ${operation}: ${await attempt().then(() => 'succeeds', shown)}`);
}
process.exit();
JS
timeout 60 node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
kurrentdb readStream: UnavailableError, type unavailable, code undefined
kurrentdb subscribeToAll: UnavailableError, type unavailable, code 14
kurrentdb getStreamMetadata: UnavailableError, type unavailable, code undefined
kurrentdb deleteStream: UnavailableError, type unavailable, code 14
kurrentdb setStreamMetadata: Error, type undefined, code 14
kurrentdb appendToStream: Error, type undefined, code 14
eventstore readStream: UnavailableError, type unavailable, code 14
eventstore subscribeToAll: UnavailableError, type unavailable, code 14
eventstore getStreamMetadata: UnavailableError, type unavailable, code 14
eventstore deleteStream: UnavailableError, type unavailable, code 14
eventstore setStreamMetadata: Error, type undefined, code 14
eventstore appendToStream: Error, type undefined, code 14
TXT
