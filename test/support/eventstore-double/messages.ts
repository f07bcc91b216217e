import sharedPb from '@eventstore/db-client/generated/shared_pb.js';
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js';
import statusPb from '@eventstore/db-client/generated/status_pb.js';
import type { Status } from '@eventstore/db-client/generated/status_pb.js';
import streamsPb from '@eventstore/db-client/generated/streams_pb.js';
import type { BatchAppendReq, BatchAppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import anyPb from 'google-protobuf/google/protobuf/any_pb.js';
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js';
import type { Message } from 'google-protobuf';
import type { Expected, LogPosition, ProposedRecord, StoredRecord } from './store.js';

/** Converts between the gRPC messages and the records of the store. */

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TICKS_PER_MILLISECOND = 10_000n;

export const expectedOf = (options: BatchAppendReq.Options): Expected => {
  if (options.hasNoStream()) return 'no-stream';
  if (options.hasAny()) return 'any';
  return Number(options.getStreamPosition());
};

/** @throws Error with the message of a real server if the message is invalid */
export const proposedOf = (message: BatchAppendReq.ProposedMessage): ProposedRecord => {
  const id = message.getId()?.getString() ?? '';
  if (!UUID_TEXT.test(id)) throw new Error('Guid should contain 32 digits with 4 dashes');
  const metadata = message.getMetadataMap();
  const type = metadata.get('type');
  if (!type) throw new Error('Argument eventType should not be empty');
  return {
    id: id.toLowerCase(),
    type,
    isJson: metadata.get('content-type') === 'application/json',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
};

export const streamNameOf = (name: Uint8Array): string => Buffer.from(name).toString('utf8');

const allPosition = (position: bigint) => {
  const message = new sharedPb.AllStreamPosition();
  message.setCommitPosition(String(position));
  message.setPreparePosition(String(position));
  return message;
};

const streamIdentifier = (stream: string) => {
  const identifier = new sharedPb.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream, 'utf8'));
  return identifier;
};

const answerTo = (correlation: UUID, stream: string): BatchAppendResp => {
  const answer = new streamsPb.BatchAppendResp();
  answer.setCorrelationId(correlation);
  answer.setStreamIdentifier(streamIdentifier(stream));
  return answer;
};

export const appended = (
  correlation: UUID,
  stream: string,
  { revision, position }: { revision: number; position: bigint | undefined },
): BatchAppendResp => {
  const success = new streamsPb.BatchAppendResp.Success();
  success.setCurrentRevision(String(revision));
  if (position === undefined) success.setNoPosition(new emptyPb.Empty());
  else success.setPosition(allPosition(position));
  const answer = answerTo(correlation, stream);
  answer.setSuccess(success);
  return answer;
};

const failed = (correlation: UUID, stream: string, message: string, details: Message, type: string) => {
  const any = new anyPb.Any();
  any.pack(details.serializeBinary(), type);
  const status: Status = new statusPb.Status();
  status.setMessage(message);
  status.setDetails(any);
  const answer = answerTo(correlation, stream);
  answer.setError(status);
  return answer;
};

export const wrongVersion = (
  correlation: UUID,
  stream: string,
  expected: Expected,
  current: number,
): BatchAppendResp => {
  const details = new sharedPb.WrongExpectedVersion();
  if (current < 0) details.setCurrentNoStream(new emptyPb.Empty());
  else details.setCurrentStreamRevision(String(current));
  if (expected === 'no-stream') details.setExpectedNoStream(new emptyPb.Empty());
  else if (expected === 'any') details.setExpectedAny(new emptyPb.Empty());
  else details.setExpectedStreamPosition(String(expected));
  return failed(correlation, stream, 'WrongExpectedVersion', details, 'event_store.client.WrongExpectedVersion');
};

export const tooLarge = (correlation: UUID, stream: string, maxBytes: number): BatchAppendResp => {
  const details = new sharedPb.MaximumAppendSizeExceeded();
  details.setMaxappendsize(maxBytes);
  return failed(
    correlation,
    stream,
    'Maximum Append Size Exceeded',
    details,
    'event_store.client.MaximumAppendSizeExceeded',
  );
};

export const timedOut = (correlation: UUID, stream: string): BatchAppendResp =>
  failed(correlation, stream, 'Timeout', new sharedPb.Timeout(), 'event_store.client.Timeout');

export const deletedStream = (correlation: UUID, stream: string): BatchAppendResp => {
  const details = new sharedPb.StreamDeleted();
  details.setStreamIdentifier(streamIdentifier(stream));
  return failed(correlation, stream, 'StreamDeleted', details, 'event_store.client.StreamDeleted');
};

export const tombstoned = (position: bigint) => {
  const at = new streamsPb.TombstoneResp.Position();
  at.setCommitPosition(String(position));
  at.setPreparePosition(String(position));
  const answer = new streamsPb.TombstoneResp();
  answer.setPosition(at);
  return answer;
};

/** A server also sends this error if it is busy or not ready yet. */
export const badRequest = (correlation: UUID, stream: string, message = 'BadRequest'): BatchAppendResp =>
  failed(correlation, stream, message, new sharedPb.BadRequest(), 'event_store.client.BadRequest');

export const accessDenied = (correlation: UUID, stream: string): BatchAppendResp =>
  failed(correlation, stream, 'Access Denied', new sharedPb.AccessDenied(), 'event_store.client.AccessDenied');

const onWire = new WeakMap<StoredRecord, Buffer>();

/**
 * Returns the encoded message of a record. Each record is encoded once, so that reads are as fast as those of a real
 * server.
 */
export const eventMessage = (record: StoredRecord): Buffer => {
  const known = onWire.get(record);
  if (known !== undefined) return known;
  const encoded = Buffer.from(readEvent(record).serializeBinary());
  onWire.set(record, encoded);
  return encoded;
};

const readEvent = (record: StoredRecord): ReadResp => {
  const event = new streamsPb.ReadResp.ReadEvent.RecordedEvent();
  const id = new sharedPb.UUID();
  id.setString(record.id);
  event.setId(id);
  event.setStreamIdentifier(streamIdentifier(record.stream));
  event.setStreamRevision(String(record.revision));
  event.setCommitPosition(String(record.position));
  event.setPreparePosition(String(record.position));
  event.getMetadataMap().set('type', record.type);
  event.getMetadataMap().set('content-type', record.isJson ? 'application/json' : 'application/octet-stream');
  event.getMetadataMap().set('created', String(BigInt(record.createdAt) * TICKS_PER_MILLISECOND));
  event.setData(record.data);
  event.setCustomMetadata(record.metadata);
  const read = new streamsPb.ReadResp.ReadEvent();
  read.setEvent(event);
  read.setCommitPosition(String(record.position));
  const message = new streamsPb.ReadResp();
  message.setEvent(read);
  return message;
};

export const confirmation = (subscription: string): ReadResp => {
  const message = new streamsPb.ReadResp();
  const confirmed = new streamsPb.ReadResp.SubscriptionConfirmation();
  confirmed.setSubscriptionId(subscription);
  message.setConfirmation(confirmed);
  return message;
};

export const caughtUp = (): ReadResp => {
  const message = new streamsPb.ReadResp();
  message.setCaughtUp(new streamsPb.ReadResp.CaughtUp());
  return message;
};

export const checkpoint = ({ commit, prepare }: LogPosition): ReadResp => {
  const message = new streamsPb.ReadResp();
  const reached = new streamsPb.ReadResp.Checkpoint();
  reached.setCommitPosition(String(commit));
  reached.setPreparePosition(String(prepare));
  message.setCheckpoint(reached);
  return message;
};

export const streamNotFound = (stream: string): ReadResp => {
  const message = new streamsPb.ReadResp();
  const missing = new streamsPb.ReadResp.StreamNotFound();
  missing.setStreamIdentifier(streamIdentifier(stream));
  message.setStreamNotFound(missing);
  return message;
};

/** Returns the filter of a subscription: it selects streams by prefix. */
export const filterOf = (options: ReadReq.Options): ((record: StoredRecord) => boolean) => {
  const prefixes = options.getFilter()?.getStreamIdentifier()?.getPrefixList() ?? [''];
  return ({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix));
};
