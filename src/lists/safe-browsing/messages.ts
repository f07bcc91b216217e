import protobuf from 'protobufjs/light.js';

/**
 * The messages of Safe Browsing v5 that this service sends, with the names and numbers of
 * `google/security/safebrowsing/v5/safebrowsing.proto`. Their JSON has the same names.
 */
const MESSAGES = protobuf.Root.fromJSON({
  nested: {
    Duration: { fields: { seconds: { id: 1, type: 'int64' } } },
    RiceDeltaEncoded32Bit: {
      fields: {
        firstValue: { id: 1, type: 'uint32' },
        riceParameter: { id: 2, type: 'int32' },
        entriesCount: { id: 3, type: 'int32' },
        encodedData: { id: 4, type: 'bytes' },
      },
    },
    HashListMetadata: {
      fields: {
        threatTypes: { id: 1, type: 'ThreatType', rule: 'repeated' },
        hashLength: { id: 6, type: 'HashLength' },
      },
    },
    HashList: {
      fields: {
        name: { id: 1, type: 'string' },
        version: { id: 2, type: 'bytes' },
        partialUpdate: { id: 3, type: 'bool' },
        additionsFourBytes: { id: 4, type: 'RiceDeltaEncoded32Bit' },
        compressedRemovals: { id: 5, type: 'RiceDeltaEncoded32Bit' },
        minimumWaitDuration: { id: 6, type: 'Duration' },
        sha256Checksum: { id: 7, type: 'bytes' },
        metadata: { id: 8, type: 'HashListMetadata' },
      },
    },
    BatchGetHashListsResponse: { fields: { hashLists: { id: 1, type: 'HashList', rule: 'repeated' } } },
    FullHashDetail: { fields: { threatType: { id: 1, type: 'ThreatType' } } },
    FullHash: {
      fields: {
        fullHash: { id: 1, type: 'bytes' },
        fullHashDetails: { id: 2, type: 'FullHashDetail', rule: 'repeated' },
      },
    },
    SearchHashesResponse: {
      fields: {
        fullHashes: { id: 1, type: 'FullHash', rule: 'repeated' },
        cacheDuration: { id: 2, type: 'Duration' },
      },
    },
    ThreatType: { values: { THREAT_TYPE_UNSPECIFIED: 0, SOCIAL_ENGINEERING: 2 } },
    HashLength: { values: { HASH_LENGTH_UNSPECIFIED: 0, FOUR_BYTES: 2 } },
  },
});

interface RiceDelta {
  readonly firstValue: number;
  readonly riceParameter: number;
  readonly entriesCount: number;
  readonly encodedData: Uint8Array;
}

interface Duration {
  readonly seconds: number;
}

/** A list, or what has changed in it. A part without entries is absent, because an empty one would be the entry 0. */
export interface HashList {
  readonly name: string;
  /** What the client sends with its next request. Names the list, because clients send versions in any order. */
  readonly version?: Uint8Array;
  readonly partialUpdate?: boolean;
  readonly additionsFourBytes?: RiceDelta;
  readonly compressedRemovals?: RiceDelta;
  readonly minimumWaitDuration: Duration;
  /** Of all prefixes after the update, in ascending order, big endian. */
  readonly sha256Checksum: Uint8Array;
  readonly metadata: { readonly threatTypes: readonly string[]; readonly hashLength: string };
}

interface FullHash {
  readonly fullHash: Uint8Array;
  readonly fullHashDetails: readonly { readonly threatType: string }[];
}

/** The responses by the names of their messages. */
export interface Responses {
  HashList: HashList;
  BatchGetHashListsResponse: { readonly hashLists: readonly HashList[] };
  SearchHashesResponse: { readonly fullHashes: readonly FullHash[]; readonly cacheDuration: Duration };
}

/** Returns a response in the binary format of Protocol Buffers. */
export const encodeMessage = <Name extends keyof Responses>(name: Name, response: Responses[Name]): Uint8Array => {
  const type = MESSAGES.lookupType(name);
  return type.encode(type.fromObject(response)).finish();
};

/** Returns a response in the JSON format of Protocol Buffers. */
export const jsonOfMessage = (response: Responses[keyof Responses]): string =>
  JSON.stringify(response, function (this: Readonly<Record<string, unknown>>, name, text: unknown) {
    // The text of a `Buffer` is not its base64.
    const value = this[name];
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
    return name.endsWith('Duration') ? `${(value as Duration).seconds}s` : text;
  });
