import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossipPb from '@eventstore/db-client/generated/gossip_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import featuresPb from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { BatchAppendReq, BatchAppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
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
import { Gate } from '../gate.js';
import {
  accessDenied,
  appended,
  badRequest,
  caughtUp,
  checkpoint,
  confirmation,
  eventMessage,
  expectedOf,
  filterOf,
  proposedOf,
  streamNameOf,
  streamNotFound,
  timedOut,
  tooLarge,
  wrongVersion,
} from './messages.js';
import { type ProposedRecord, Store, type StoredRecord } from './store.js';

/** A message, or one that is encoded already. */
type Sent = ReadResp | Buffer;
type Reader = ServerWritableStream<ReadReq, Sent>;
type Appender = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;
type Failure = Partial<StatusObject>;

/** What a read comes upon: records, no such stream, or a reason why not. */
interface Found {
  readonly records?: readonly StoredRecord[];
  readonly missing?: string;
  readonly failure?: Failure;
}

/** Whom it knows, over TLS. */
export interface User {
  readonly name: string;
  readonly password: string;
}

const MAX_APPEND_BYTES = 1_048_576;
/** What one connection carries at a time; the next call waits. */
const MAX_STREAMS = 100;
/** After this a server gives up on an append it has not seen the end of, and says so. */
const WRITE_TIMEOUT_MS = 2_000;
/** A filtered subscription says how far it has come each 32 records, times what the client asks for. */
const CHECKPOINT_WINDOW = 32;

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
const NOT_READY = failure(status.UNAVAILABLE, 'Server Is Not Ready');
const ACCESS_DENIED = failure(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
/** What it says to a user it does not know, or a wrong password. To nobody at all it says "Access Denied". */
const UNAUTHENTICATED = failure(status.UNAUTHENTICATED, 'Unauthenticated');
const TOO_SLOW = failure(
  status.ABORTED,
  'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
);
const invalidPosition = (): Failure => failure(status.UNKNOWN, 'Unexpected ReadAllResult: InvalidPosition');

/**
 * An EventStoreDB as a client sees one, over the wire: the service definitions the client package ships, a store in
 * memory behind them, and a gate before them that can break the connection in every way we know. It behaves as a
 * real single node (24.2) was observed to, oddities included.
 */
export class EventStoreDouble {
  /** Refuses every call, as a server does that does not know the caller. */
  refusesCallers = false;
  /** Is a follower: appends are turned down with the leader's address. */
  leader: { readonly host: string; readonly port: number } | undefined;
  /** Answers this many calls for its features with an internal error, which the client never asks for again. */
  failingFeatureCalls = 0;
  /** Says "Server Is Busy" to this many appends. */
  busyAppends = 0;
  /** Takes this many appends, or all, and never answers them, although the connection is alive. */
  unansweredAppends = 0;
  /** How far its clock is ahead of ours. */
  clockAheadMs = 0;
  /** Says "Server Is Not Ready" to this many looks at the end of the log. */
  unreadableEnds = 0;
  /** Answers this many looks at the end of the log as if the log were empty. */
  emptyEnds = 0;
  /** Takes this many reads and subscriptions, or all, and never answers them, although the connection is alive. */
  unansweredReads = 0;
  /** As a follower to which replication is slow: what lies after this has not arrived here. */
  replicatedTo: bigint | undefined;
  /** How many events of streams that are none of this service's it has sent. */
  sentForeign = 0;
  /** How many appends it left unanswered because the same ids were just being stored. */
  droppedRepetitions = 0;
  /** How many times each kind of call came in. */
  readonly calls = { append: 0, read: 0, subscribe: 0, gossip: 0 };

  /** Whether its user may read `$all`: by default administrators alone may. */
  mayReadAll = true;

  private readonly server: Server;
  private gate: Gate | undefined;
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
   * @param store that of another double, for two nodes of one cluster
   * @param at the port to listen on, 0 for a free one
   * @param user the only one it serves, over TLS; absent: everyone, in the plain
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
    double.gate = new Gate({ host: '127.0.0.1', port }, at);
    await double.gate.open();
    return double;
  }

  get address(): { host: string; port: number } {
    const [host, port] = this.gate!.address.split(':');
    return { host: host!, port: Number(port) };
  }

  get connections(): number {
    return this.gate!.connections;
  }

  get url(): string {
    return this.user === undefined ? `esdb://${this.gate!.address}?tls=false` : this.urlFor(this.user);
  }

  /** For a user it may not know, or nobody. */
  urlFor(user?: User): string {
    const who = user === undefined ? '' : `${user.name}:${user.password}@`;
    return `esdb://${who}${this.gate!.address}?tlsCAFile=${this.caFile}`;
  }

  private get caFile(): string {
    return join(this.folder!, 'ca.crt');
  }

  /** Stays connected and says nothing, until told to speak. */
  silence(): void {
    this.gate!.silence();
  }

  speak(): void {
    this.gate!.speak();
  }

  /** Breaks every connection in mid-stream. */
  drop(): void {
    this.gate!.drop();
  }

  /** As killed: connections break, the port is closed, ids of recent writes are forgotten. */
  async kill(): Promise<void> {
    await this.gate!.close();
    this.store.forgetRecentWrites();
  }

  /** Starts again on the same port after `kill`. */
  async restart(): Promise<void> {
    await this.gate!.open();
  }

  /** Ends every subscription with an error, as a server does whose client does not keep up. */
  callConsumersTooSlow(): void {
    for (const subscription of this.subscriptions) subscription.emit('error', TOO_SLOW);
  }

  /** Ends every subscription as if all were well. */
  endSubscriptions(): void {
    for (const subscription of this.subscriptions) subscription.end();
  }

  /** Leaves every subscription open and sends nothing more to those that are open now. */
  forgetSubscriptions(): void {
    this.subscriptions.clear();
  }

  async stop(): Promise<void> {
    await this.gate!.close();
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

  /** Who calls is asked in each call. */
  private denialOf(call: { readonly metadata: Metadata }, readsAll = false): Failure | undefined {
    if (this.refusesCallers) return ACCESS_DENIED;
    if (this.user === undefined) return undefined;
    const [given] = call.metadata.get('authorization');
    const known = `Basic ${Buffer.from(`${this.user.name}:${this.user.password}`).toString('base64')}`;
    if (given !== undefined && given !== known) return UNAUTHENTICATED;
    return given === undefined || (readsAll && !this.mayReadAll) ? ACCESS_DENIED : undefined;
  }

  /** A node that does not lead says who does to those who ask for the leader. */
  private refusalOf(call: { readonly metadata: Metadata }): Failure | undefined {
    if (this.leader === undefined || call.metadata.get('requires-leader')[0] !== 'true') return undefined;
    return notLeader(this.leader);
  }

  /** What there is of the log on this node. */
  private get records(): readonly StoredRecord[] {
    const { records } = this.store;
    return this.replicatedTo === undefined ? records : records.slice(0, this.store.indexFrom(this.replicatedTo + 1n));
  }

  private streamRecords(options: ReadReq.Options): Found {
    const stream = options.getStream()!;
    const name = streamNameOf(stream.getStreamIdentifier()!.getStreamName_asU8());
    const records = this.store.stream(name);
    if (records === undefined) return { missing: name };
    const count = Number(options.getCount());
    const isBackwards = options.getReadDirection() === 1;
    const from = stream.hasStart() ? 0 : stream.hasEnd() ? records.length - 1 : Number(stream.getRevision());
    if (!isBackwards) return { records: records.slice(from, from + count) };
    const last = Math.min(from, records.length - 1);
    return { records: records.slice(Math.max(0, last + 1 - count), last + 1).reverse() };
  }

  /** Forwards from a position that is read too; backwards from one that is not. */
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
    // Only what is to be caught up with is read, and asks for the leader.
    const refusal = all.hasPosition() && position >= last ? undefined : this.refusalOf(call);
    if (refusal !== undefined) return void call.emit('error', refusal);
    if (all.hasPosition() && !this.store.isReadable(position)) return void call.emit('error', invalidPosition());
    let next = all.hasStart() ? 0 : all.hasEnd() ? this.records.length : this.store.indexFrom(position + 1n);
    // Past the end: it stays there, whatever is written before it.
    const isPastTheEnd = all.hasPosition() && position > (this.store.records.at(-1)?.position ?? 0n);
    const isWanted = filterOf(options);
    const filter = options.getFilter();
    const window = filter?.getMax() || CHECKPOINT_WINDOW;
    const interval = (filter?.getCheckpointintervalmultiplier() ?? 0) * window;
    let scanned = 0;
    let isRunning = false;
    let isCaughtUp = false;
    this.subscriptions.add(call);
    const isOpen = (): boolean => this.subscriptions.has(call) && !call.cancelled && !call.destroyed;
    const run = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      while (isOpen() && !isPastTheEnd && next < this.records.length) {
        const record = this.store.records[next++]!;
        if (isWanted(record)) await this.sendRecords(call, [record]);
        if (interval > 0 && ++scanned % interval === 0) await send(call, checkpoint(record.position));
      }
      isRunning = false;
      if (!isCaughtUp && isOpen()) {
        isCaughtUp = true;
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
    // To nobody it says so in the answer to each append.
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
        // A point in time, by the client's clock.
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
        // The append stays open, and gets a second answer when its time is over. So does a real server's.
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
    if (stream.startsWith('$')) return void call.write(accessDenied(correlation, stream));
    const expected = expectedOf(options);
    const outcome = this.store.append(stream, expected, events);
    if (this.unansweredAppends > 0) {
      this.unansweredAppends--;
      return this.store.onceIndexed(() => {});
    }
    if ('wrongVersion' in outcome)
      return void call.write(wrongVersion(correlation, stream, expected, outcome.wrongVersion));
    const answer = (): boolean => call.write(appended(correlation, stream, outcome));
    if (!outcome.isRepeated) return this.store.onceIndexed(answer);
    if (this.store.isIndexed(outcome.position)) return void answer();
    // What it repeats is still being stored: dropped without a word, and the writer's time limit answers.
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

/** Writes as fast as the client reads. */
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
