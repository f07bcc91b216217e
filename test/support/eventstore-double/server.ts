import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossipPb from '@eventstore/db-client/generated/gossip_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import featuresPb from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type {
  BatchAppendReq,
  BatchAppendResp,
  ReadReq,
  ReadResp,
  TombstoneReq,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
  type StatusObject,
} from '@grpc/grpc-js';
import { CERTIFICATE, KEY } from './certificate.js';
import { CatchUpPages, PAGE_SIZE } from './catch-up-pages.js';
import { TcpProxy } from '../tcp-proxy.js';
import {
  accessDenied,
  appended,
  badRequest,
  caughtUp,
  checkpoint,
  deletedStream,
  confirmation,
  eventMessage,
  expectedOf,
  filterOf,
  proposedOf,
  streamNameOf,
  streamNotFound,
  timedOut,
  tombstoned,
  tooLarge,
  wrongVersion,
} from './messages.js';
import { type LogPosition, type ProposedRecord, Store, type StoredRecord } from './store.js';

/** A message, or an encoded message. */
type Sent = ReadResp | Buffer;
type Reader = ServerWritableStream<ReadReq, Sent>;
type Appender = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;
type Failure = Partial<StatusObject>;

/** The result of a read: records, a missing stream, or a failure. */
interface Found {
  readonly records?: readonly StoredRecord[];
  readonly missing?: string;
  readonly failure?: Failure;
}

/** The user that may call the double over TLS. */
export interface User {
  readonly name: string;
  readonly password: string;
}

const MAX_APPEND_BYTES = 1_048_576;
/** Concurrent calls per connection; further calls wait. */
const MAX_STREAMS = 100;
/** After this time a server rejects an append whose last message has not arrived. */
const WRITE_TIMEOUT_MS = 2_000;

const OURS =
  /^(?:[A-Za-z0-9._]*\.)?(?:(?:threat|takedown|report|brand|featureFlag|assetStatus|groupedAsset|assetGroups)-|apiKeys$|operations$)/;

const failure = (code: status, details: string, metadata: Record<string, string> = {}): Failure => {
  const trailer = new Metadata();
  for (const [name, value] of Object.entries(metadata)) trailer.set(name, value);
  return { code, details, metadata: trailer };
};
const notLeader = ({ host, port }: { readonly host: string; readonly port: number }): Failure =>
  failure(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  });
const streamDeleted = (stream: string): Failure =>
  failure(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });
const NOT_READY = failure(status.UNAVAILABLE, 'Server Is Not Ready');
const ACCESS_DENIED = failure(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
/** The response to an unknown user or a wrong password. A call without a user gets "Access Denied". */
const UNAUTHENTICATED = failure(status.UNAUTHENTICATED, 'Unauthenticated');
const TOO_SLOW = failure(
  status.ABORTED,
  'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
);
const invalidPosition = (): Failure => failure(status.UNKNOWN, 'Unexpected ReadAllResult: InvalidPosition');

/**
 * A test double of EventStoreDB that speaks its gRPC protocol: the service definitions of the client package, an
 * in-memory store, and a TCP proxy that can break connections. It behaves as a real single node (24.2) was observed to
 * behave.
 */
export class EventStoreDouble {
  /** Denies every call, as a server does for an unknown caller. */
  refusesCallers = false;
  /** If set, the double is a follower: it rejects appends with the address of this leader. */
  leader: { readonly host: string; readonly port: number } | undefined;
  /** Responds to this many calls for its features with an internal error, which the client does not retry. */
  failingFeatureCalls = 0;
  /** Responds to this many appends with "Server Is Busy". */
  busyAppends = 0;
  /** Never responds to this many appends, although it stores them and the connection is alive. */
  unansweredAppends = 0;
  /** How far the clock of the double is ahead of the clock of the test, in ms. */
  clockAheadMs = 0;
  /** Responds to this many reads of the end of the log with "Server Is Not Ready". */
  unreadableEnds = 0;
  /** Responds to this many reads of the end of the log as if the log were empty. */
  emptyEnds = 0;
  /** Never responds to this many reads and subscriptions, although the connection is alive. */
  unansweredReads = 0;
  /** If set, the double is a follower with slow replication: it does not have the records after this position yet. */
  replicatedTo: bigint | undefined;
  /** How many events the double has sent of streams that do not belong to this service. */
  sentForeign = 0;
  /** How many appends the double dropped because events with the same ids were being stored. */
  droppedRepetitions = 0;
  /** How many calls of each kind the double has received. */
  readonly calls = { append: 0, read: 0, subscribe: 0, gossip: 0 };

  /** Whether the user may read `$all`; on a real server only administrators may by default. */
  mayReadAll = true;

  private readonly server: Server;
  private proxy: TcpProxy | undefined;
  private readonly subscriptions = new Set<Reader>();
  private folder: string | undefined;

  private constructor(
    readonly store: Store,
    private readonly user: User | undefined,
  ) {
    this.server = new Server({
      'grpc.max_receive_message_length': 17 * 1024 * 1024,
      'grpc.max_concurrent_streams': MAX_STREAMS,
    });
    this.server.addService(STREAMS, {
      read: (call: Reader) => this.read(call),
      batchAppend: (call: Appender) => this.batchAppend(call),
      tombstone: (
        call: { readonly request: TombstoneReq; readonly metadata: Metadata },
        answer: (error: Failure | null, value?: unknown) => void,
      ) => {
        const failed = this.denialOf(call) ?? this.refusalOf(call);
        const name = streamNameOf(call.request.getOptions()!.getStreamIdentifier()!.getStreamName_asU8());
        if (failed !== undefined) answer(failed);
        else if (this.store.isDeleted(name)) answer(streamDeleted(name));
        else answer(null, tombstoned(this.store.tombstone(name)));
      },
    });
    this.server.addService(featuresGrpc.ServerFeaturesService, {
      getSupportedMethods: (_call: unknown, answer: (error: Failure | null, methods?: unknown) => void) => {
        if (this.refusesCallers) answer(ACCESS_DENIED);
        else if (this.failingFeatureCalls-- > 0) answer(failure(status.INTERNAL, 'Received RST_STREAM with code 2'));
        else answer(null, supportedMethods());
      },
    });
    this.server.addService(gossipGrpc.GossipService, {
      read: (_call: unknown, answer: (error: null, cluster: unknown) => void) => {
        this.calls.gossip++;
        answer(null, this.cluster());
      },
    });
  }

  /**
   * @param store shared by two doubles that are nodes of one cluster
   * @param at the port to listen on, 0 for a free one
   * @param user the only user it serves, over TLS; absent: it serves everyone, without TLS
   */
  static async start(store = new Store(), at = 0, user?: User): Promise<EventStoreDouble> {
    const double = new EventStoreDouble(store, user);
    if (user !== undefined) {
      double.folder = await mkdtemp(join(tmpdir(), 'eventstore-double-'));
      await writeFile(double.caFile, CERTIFICATE);
    }
    const credentials =
      user === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(null, [{ private_key: Buffer.from(KEY), cert_chain: Buffer.from(CERTIFICATE) }]);
    const port = await new Promise<number>((resolve, reject) => {
      double.server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
    double.proxy = new TcpProxy({ host: '127.0.0.1', port }, at);
    await double.proxy.open();
    return double;
  }

  get address(): { host: string; port: number } {
    const [host, port] = this.proxy!.address.split(':');
    return { host: host!, port: Number(port) };
  }

  get connections(): number {
    return this.proxy!.connections;
  }

  get url(): string {
    return this.user === undefined ? `esdb://${this.proxy!.address}?tls=false` : this.urlFor(this.user);
  }

  /** Returns the URL for another user, or for no user. */
  urlFor(user?: User): string {
    const who = user === undefined ? '' : `${user.name}:${user.password}@`;
    return `esdb://${who}${this.proxy!.address}?tlsCAFile=${this.caFile}`;
  }

  private get caFile(): string {
    return join(this.folder!, 'ca.crt');
  }

  /** Keeps connections open but transfers nothing until `unfreeze` is called. */
  freeze(): void {
    this.proxy!.freeze();
  }

  unfreeze(): void {
    this.proxy!.unfreeze();
  }

  /** Closes every open connection. */
  dropConnections(): void {
    this.proxy!.dropConnections();
  }

  /** Behaves as if killed: closes connections and port, and forgets the ids of recent writes. */
  async kill(): Promise<void> {
    await this.proxy!.close();
    this.store.forgetRecentWrites();
  }

  /** Restarts the double on the same port after `kill`. */
  async restart(): Promise<void> {
    await this.proxy!.open();
  }

  /** Ends every subscription with the error that a server sends to a consumer that is too slow. */
  callConsumersTooSlow(): void {
    for (const subscription of this.subscriptions) subscription.emit('error', TOO_SLOW);
  }

  /** Ends every subscription without an error. */
  endSubscriptions(): void {
    for (const subscription of this.subscriptions) subscription.end();
  }

  /** Keeps the present subscriptions open, but sends no more events to them. */
  forgetSubscriptions(): void {
    this.subscriptions.clear();
  }

  async stop(): Promise<void> {
    await this.proxy!.close();
    this.server.forceShutdown();
    if (this.folder !== undefined) await rm(this.folder, { recursive: true });
  }

  private read(call: Reader): void {
    const options = call.request.getOptions()!;
    const denial = this.denialOf(call, options.hasAll());
    if (denial !== undefined) return void call.emit('error', denial);
    if (this.unansweredReads > 0) return void this.unansweredReads--;
    if (options.hasSubscription()) return this.subscribe(call, options);
    this.calls.read++;
    const refusal = this.refusalOf(call);
    if (refusal !== undefined) return void call.emit('error', refusal);
    if (options.getAll()?.hasEnd() && this.unreadableEnds-- > 0) return void call.emit('error', NOT_READY);
    if (options.getAll()?.hasEnd() && this.emptyEnds > 0) {
      this.emptyEnds--;
      return void call.end();
    }
    const found = options.hasStream() ? this.streamRecords(options) : this.allRecords(options);
    if (found.failure !== undefined) return void call.emit('error', found.failure);
    if (found.missing !== undefined) call.write(streamNotFound(found.missing));
    void this.sendRecords(call, found.records ?? []).then(() => call.end());
  }

  private async sendRecords(call: Reader, records: readonly StoredRecord[]): Promise<void> {
    for (const record of records) {
      if (!OURS.test(record.stream)) this.sentForeign++;
      await send(call, eventMessage(record));
    }
  }

  /** Returns the failure of a call that the caller may not make. */
  private denialOf(call: { readonly metadata: Metadata }, readsAll = false): Failure | undefined {
    if (this.refusesCallers) return ACCESS_DENIED;
    if (this.user === undefined) return undefined;
    const [authorization] = call.metadata.get('authorization');
    const expected = `Basic ${Buffer.from(`${this.user.name}:${this.user.password}`).toString('base64')}`;
    if (authorization !== undefined && authorization !== expected) return UNAUTHENTICATED;
    return authorization === undefined || (readsAll && !this.mayReadAll) ? ACCESS_DENIED : undefined;
  }

  /** Returns the failure of a follower for a call that requires the leader. */
  private refusalOf(call: { readonly metadata: Metadata }): Failure | undefined {
    if (this.leader === undefined || call.metadata.get('requires-leader')[0] !== 'true') return undefined;
    return notLeader(this.leader);
  }

  /** The records that this node has. */
  private get records(): readonly StoredRecord[] {
    const { records } = this.store;
    return this.replicatedTo === undefined ? records : records.slice(0, this.store.indexFrom(this.replicatedTo + 1n));
  }

  private streamRecords(options: ReadReq.Options): Found {
    const stream = options.getStream()!;
    const name = streamNameOf(stream.getStreamIdentifier()!.getStreamName_asU8());
    const all = this.store.stream(name);
    if (all === undefined) return { missing: name };
    if (this.store.isDeleted(name)) return { failure: streamDeleted(name) };
    const truncatedBefore = this.store.truncatedBefore(name);
    const count = Number(options.getCount());
    const isBackwards = options.getReadDirection() === 1;
    const from = stream.hasStart() ? 0 : stream.hasEnd() ? all.length - 1 : Number(stream.getRevision());
    const first = Math.max(from, truncatedBefore);
    if (!isBackwards) return { records: all.slice(first, first + count) };
    const last = Math.min(from, all.length - 1);
    return { records: all.slice(Math.max(truncatedBefore, last + 1 - count), last + 1).reverse() };
  }

  /** Reads forwards including the position, or backwards excluding it. */
  private allRecords(options: ReadReq.Options): Found {
    const all = options.getAll()!;
    const count = Number(options.getCount());
    const { records } = this;
    const position = BigInt(all.getPosition()?.getCommitPosition() ?? 0);
    if (all.hasPosition() && !this.store.isReadable(position)) return { failure: invalidPosition() };
    if (options.getReadDirection() === 1) {
      const end = all.hasEnd() ? records.length : this.store.indexFrom(position);
      return { records: records.slice(Math.max(0, end - count), end).reverse() };
    }
    if (all.hasEnd()) return { records: [] };
    const start = all.hasStart() ? 0 : this.store.indexFrom(position);
    return { records: records.slice(start, start + count) };
  }

  private subscribe(call: Reader, options: ReadReq.Options): void {
    this.calls.subscribe++;
    const all = options.getAll()!;
    const last = this.records.at(-1)?.position ?? 0n;
    const position = BigInt(all.getPosition()?.getCommitPosition() ?? 0);
    // Only a subscription that has events to catch up with requires the leader.
    const refusal = all.hasPosition() && position >= last ? undefined : this.refusalOf(call);
    if (refusal !== undefined) return void call.emit('error', refusal);
    if (all.hasPosition() && !this.store.isReadable(position)) return void call.emit('error', invalidPosition());
    // The first page includes the record at the position, which is not sent again.
    let next = all.hasStart() ? 0 : all.hasEnd() ? this.records.length : this.store.indexFrom(position);
    let examined = this.records[next - 1]?.position ?? -1n;
    /** A scavenge moves the records. */
    const hasNext = (): boolean => {
      if (next > 0 && this.records[next - 1]?.position !== examined) next = this.store.indexFrom(examined + 1n);
      return next < this.records.length;
    };
    // A subscription beyond the end never receives anything, whatever is written later.
    const isPastTheEnd = all.hasPosition() && position > (this.store.records.at(-1)?.position ?? 0n);
    const isWanted = filterOf(options);
    const filter = options.getFilter();
    const window = filter?.getMax() || PAGE_SIZE;
    const interval = (filter?.getCheckpointintervalmultiplier() ?? 0) * window;
    const pages = new CatchUpPages({ commit: position, prepare: position }, window, interval);
    const hasRead = all.hasPosition() ? position : -1n;
    let isRunning = false;
    let isCaughtUp = false;
    const sendCheckpoint = async (place: LogPosition | undefined): Promise<void> => {
      if (place !== undefined) await send(call, checkpoint(place));
    };
    this.subscriptions.add(call);
    const isOpen = (): boolean => this.subscriptions.has(call) && !call.cancelled && !call.destroyed;
    const run = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      while (isOpen() && !isPastTheEnd && hasNext()) {
        const record = this.store.records[next++]!;
        examined = record.position;
        const isSelected = isWanted(record);
        if (isSelected && record.position > hasRead) await this.sendRecords(call, [record]);
        await sendCheckpoint(isCaughtUp ? pages.live(record) : pages.catchUp(record, isSelected));
      }
      isRunning = false;
      if (!isCaughtUp && isOpen()) {
        isCaughtUp = true;
        if (hasRead < last) void sendCheckpoint(pages.end());
        call.write(caughtUp());
      }
    };
    const stopListening = this.store.onAppended(() => void run());
    const end = (): void => {
      stopListening();
      this.subscriptions.delete(call);
    };
    call.on('cancelled', end).on('close', end).on('error', end).on('finish', end);
    call.write(confirmation(randomUUID()));
    void run();
  }

  private batchAppend(call: Appender): void {
    const denial = this.denialOf(call);
    // A call without a user gets "Access Denied" in the response to each append.
    const isNobody = this.user !== undefined && denial === ACCESS_DENIED;
    if (denial !== undefined && !isNobody) return void call.emit('error', denial);
    const open = new Map<string, { stream: string; options: BatchAppendReq.Options; events: ProposedRecord[] }>();
    call.on('end', () => call.end());
    call.on('error', () => {});
    call.on('data', (request: BatchAppendReq) => {
      const correlation = request.getCorrelationId()!;
      const key = correlation.getString();
      const options = request.getOptions();
      if (options !== undefined) {
        const stream = streamNameOf(options.getStreamIdentifier()!.getStreamName_asU8());
        if (isNobody) return void call.write(accessDenied(correlation, stream));
        // The deadline is a point in time by the client's clock.
        const left = (options.getDeadline()?.toDate().getTime() ?? Infinity) - (Date.now() + this.clockAheadMs);
        if (left <= 0) return void call.write(timedOut(correlation, stream));
        open.set(key, { stream, options, events: [] });
        setTimeout(() => {
          if (open.delete(key) && !call.destroyed && !call.cancelled) call.write(timedOut(correlation, stream));
        }, WRITE_TIMEOUT_MS).unref();
      }
      const append = open.get(key);
      if (append === undefined) return;
      try {
        append.events.push(...request.getProposedMessagesList().map(proposedOf));
      } catch {
        // As on a real server, the append stays open and gets a second response when it times out.
        return void call.write(badRequest(correlation, append.stream));
      }
      if (append.events.reduce((bytes, { data }) => bytes + data.length, 0) > MAX_APPEND_BYTES) {
        open.delete(key);
        return void call.write(tooLarge(correlation, append.stream, MAX_APPEND_BYTES));
      }
      if (!request.getIsFinal()) return;
      open.delete(key);
      this.append(call, correlation, append);
    });
  }

  private append(
    call: Appender,
    correlation: UUID,
    { stream, options, events }: { stream: string; options: BatchAppendReq.Options; events: ProposedRecord[] },
  ): void {
    this.calls.append++;
    if (this.leader !== undefined) return void call.emit('error', notLeader(this.leader));
    if (this.busyAppends > 0) {
      this.busyAppends--;
      return void call.write(badRequest(correlation, stream, 'Server Is Busy'));
    }
    if (/^\$(?!\$[^$])/.test(stream)) return void call.write(accessDenied(correlation, stream));
    const expected = expectedOf(options);
    const outcome = this.store.append(stream, expected, events);
    if (this.unansweredAppends > 0) {
      this.unansweredAppends--;
      return this.store.onceIndexed(() => {});
    }
    if ('isDeleted' in outcome) return void call.write(deletedStream(correlation, stream));
    if ('wrongVersion' in outcome)
      return void call.write(wrongVersion(correlation, stream, expected, outcome.wrongVersion));
    const answer = (): boolean => call.write(appended(correlation, stream, outcome));
    if (!outcome.isRepeated) return this.store.onceIndexed(answer);
    if (outcome.position === undefined || this.store.isIndexed(outcome.position)) return void answer();
    // The same events are still being stored: the append is dropped, and the caller gets a timeout.
    this.droppedRepetitions++;
    setTimeout(() => {
      if (!call.destroyed && !call.cancelled) call.write(timedOut(correlation, stream));
    }, WRITE_TIMEOUT_MS).unref();
  }

  private cluster(): unknown {
    const member = new gossipPb.MemberInfo();
    const endpoint = new gossipPb.EndPoint();
    const { host, port } = this.leader ?? this.address;
    endpoint.setAddress(host);
    endpoint.setPort(port);
    member.setHttpEndPoint(endpoint);
    member.setState(gossipPb.MemberInfo.VNodeState.LEADER);
    member.setIsAlive(true);
    member.setTimeStamp('0');
    const cluster = new gossipPb.ClusterInfo();
    cluster.setMembersList([member]);
    return cluster;
  }
}

const { read } = streamsGrpc.StreamsService;
const STREAMS = {
  ...streamsGrpc.StreamsService,
  read: {
    ...read,
    responseSerialize: (message: Sent) => (Buffer.isBuffer(message) ? message : Buffer.from(message.serializeBinary())),
  },
};

const supportedMethods = () => {
  const methods = new featuresPb.SupportedMethods();
  methods.setEventStoreServerVersion('24.2.0.0');
  methods.setMethodsList(
    ['append', 'batchappend', 'read', 'delete', 'tombstone'].map((name) => {
      const method = new featuresPb.SupportedMethod();
      method.setServiceName('event_store.client.streams.streams');
      method.setMethodName(name);
      return method;
    }),
  );
  return methods;
};

/** Writes a message and waits until the client has room for the next one. */
const send = async (call: Reader, message: Sent): Promise<void> => {
  if (call.cancelled || call.destroyed || call.write(message)) return;
  await new Promise<void>((resolve) => {
    const go = (): void => {
      call.off('drain', go).off('cancelled', go).off('close', go);
      resolve();
    };
    call.on('drain', go).on('cancelled', go).on('close', go);
  });
};
