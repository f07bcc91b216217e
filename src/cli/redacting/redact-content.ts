import { KEY_VERSION } from '../../assets/keys.js';
import type { Asset } from '../../assets/asset.js';
import { redactData } from '../../events/redacted.js';
import { hashOf } from '../../events/stored-key.js';

export type Fields = Readonly<Record<string, unknown>>;

/** The content of a stored event. */
export interface Content {
  readonly data: Fields;
  readonly metadata: Fields;
}

/** Returns the hash of an event's asset; undefined if the event has no valid asset. */
export const hashOfStored = ({ data, metadata }: Content): string | undefined => {
  const { type, content } = (data['asset'] ?? {}) as Partial<Asset>;
  if (typeof type !== 'string' || typeof content !== 'string') return undefined;
  return hashOf({ event: { data: { asset: { type, content } } }, metadata });
};

/** The content as it is stored after the redaction. The hash of the asset stays: it keeps the members of groups apart. */
export const redactContent = (content: Content): Content => {
  const { data, metadata } = content;
  const hash = hashOfStored(content);
  const { version = KEY_VERSION } = (metadata['assetKey'] ?? {}) as { readonly version?: number };
  return {
    data: redactData(data),
    metadata: hash === undefined ? metadata : { ...metadata, assetKey: { version, hash } },
  };
};
