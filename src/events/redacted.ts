import { createHash } from 'node:crypto';
import type { Asset } from '../assets/asset.js';

/** Names an erased organization, or one of its keys and endpoints, without revealing the name to readers of the log. */
export const erasureDigest = (logId: string, name: string): string =>
  createHash('sha256').update(`${logId}:${name}`).digest('hex');

/** What a redacted text is replaced by. */
export const REDACTED = '[redacted]';

export const isRedacted = ({ content }: Asset): boolean => content === REDACTED;

export const redactAsset = (asset: Asset): Asset => ({ ...asset, content: REDACTED });

type Data = Readonly<Record<string, unknown>>;

const redactTexts = (data: Data, names: readonly string[]): Data =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      names.includes(name) && typeof value === 'string' ? REDACTED : value,
    ]),
  );

/** The texts that name the disputed asset, or in which a person may have named it. */
const redactVerdict = (verdict: Data): Data => ({
  ...redactTexts(verdict, ['message']),
  sources: (verdict['sources'] as readonly Data[]).map((source) => redactTexts(source, ['match'])),
});

/**
 * Replaces the content of an event about an asset in the stored data of the event. Of a dispute, also replaces the
 * content as sent, what names the asset in the verdict, and the texts of persons.
 */
export const redactData = (data: Data): Data => {
  const { asset, verdict } = data;
  return {
    ...redactTexts(data, 'disputeId' in data ? ['content', 'reason', 'note'] : []),
    ...(asset !== undefined && { asset: redactAsset(asset as Asset) }),
    ...(verdict !== undefined && { verdict: redactVerdict(verdict as Data) }),
  };
};
