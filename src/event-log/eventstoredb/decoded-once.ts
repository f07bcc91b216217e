import messages from '@eventstore/db-client/generated/streams_pb.js';

/*
 * The client makes base64 of an event's JSON, and its protobuf library decodes that twice, letter by letter: a tenth of
 * what an append costs. The fields take bytes as well, so they are given those, decoded once and by Node.
 */
const message = messages.BatchAppendReq.ProposedMessage.prototype;
for (const setter of ['setData', 'setCustomMetadata'] as const) {
  const set = message[setter];
  message[setter] = function (value) {
    return set.call(this, typeof value === 'string' ? bytesOf(Buffer.from(value, 'base64')) : value);
  };
}

/** Protobuf would copy a Buffer. */
const bytesOf = ({ buffer, byteOffset, length }: Buffer): Uint8Array => new Uint8Array(buffer, byteOffset, length);
