import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Invalid, NotFound } from '../errors.js';
import { formatInstant } from '../events/instant.js';
import { queryOf } from '../http/requests.js';
import { matchesEntityTag } from '../http/responses/send-snapshot.js';
import { LIST_NAMES } from './built-lists.js';
import { FollowedLists } from './followed-lists.js';
import { ListBodies, MINIMUM_WAIT_SECONDS } from './list-bodies.js';
import type { DescribedList } from './lists.dto.js';
import { type CurrentList, readToken, servedBy } from './served-list.js';

/** How old a list may become that a client cannot update. */
const VALID_SECONDS = 24 * 60 * 60;

/** Reads what the lists are and which versions they have. */
export class ReadLists extends queryOf<readonly DescribedList[], Record<never, never>>() {}

@QueryHandler(ReadLists)
export class ReadListsHandler implements IQueryHandler<ReadLists> {
  constructor(private readonly followed: FollowedLists) {}

  /** @throws Unavailable until each list has a version */
  execute(): Promise<readonly DescribedList[]> {
    return Promise.resolve(
      this.followed.lists.map((list) => {
        const { name, version, head } = servedBy(list);
        return {
          name,
          version: version.token,
          entries: list.entries!,
          covers: head.covers,
          notCovered: head.notCovered,
          cutAt: formatInstant(head.cutAt),
          sha256: version.sha256.toString('hex'),
          ...(head.signature !== null && { signature: head.signature.toString('base64') }),
          ...(head.publicKey !== null && { publicKey: head.publicKey }),
          validSeconds: VALID_SECONDS,
          minimumWaitSeconds: MINIMUM_WAIT_SECONDS,
        };
      }),
    );
  }
}

interface ListQuery {
  readonly name: string;
  /** The version that the client has. */
  readonly since: string | undefined;
  readonly form: 'json' | 'gzip' | 'bytes';
  readonly ifNoneMatch: string | undefined;
  readonly waitMs: number;
  /** Undefined for a client without a key. */
  readonly keyId: string | undefined;
  /** The key at one address, or the address of a client without a key. */
  readonly stranger: string;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
}

export interface ListAnswer extends CurrentList {
  readonly tag: string;
  /** Undefined if the client has this version already, or has disconnected. */
  readonly body: Buffer | undefined;
}

/** Reads a list, or what has changed since a version of it. */
export class ReadList extends queryOf<ListAnswer, ListQuery>() {}

/** The signature of a version is renewed, so the instant is a part of the tag. */
const tagOf = ({ version, head }: CurrentList, form: ListQuery['form']): string =>
  `W/"${version.token}-${head.cutAt.toString(36)}${form === 'bytes' ? '-bytes' : ''}"`;

@QueryHandler(ReadList)
export class ReadListHandler implements IQueryHandler<ReadList> {
  private readonly bodies = new ListBodies();

  constructor(private readonly followed: FollowedLists) {}

  /**
   * @throws NotFound for an unknown list, Invalid for a `since` that is not a version, Unavailable until the list has a
   *   version, or as `FollowedLists.wait`
   */
  async execute({ name, since, form, ifNoneMatch, waitMs, keyId, stranger, signal }: ReadList): Promise<ListAnswer> {
    const list = this.followed.lists.find((each) => each.name === name);
    if (list === undefined) throw new NotFound(`There is no such list; the lists are ${LIST_NAMES.join(', ')}`);
    const mark = since === undefined ? undefined : readToken(since);
    if (since !== undefined && mark === undefined)
      throw new Invalid('since must be the version of an earlier response (12-0123456789abcdef)');
    if (since !== undefined && form === 'bytes')
      throw new Invalid('application/octet-stream is a whole list: omit since, or accept application/json');
    // Another process has served a later version. Without it, the client would get the whole list of before. A failure is
    // reported when the lists are followed next.
    if (mark !== undefined && mark.number > servedBy(list).version.number) await this.followed.follow().catch(() => {});
    const isKnown = (current: CurrentList): boolean =>
      current.version.token === since || matchesEntityTag(ifNoneMatch, tagOf(current, form));
    if (waitMs > 0 && isKnown(servedBy(list))) await this.followed.wait(list, { keyId, stranger }, waitMs, signal);
    const current = servedBy(list);
    const tag = tagOf(current, form);
    if (signal.aborted || matchesEntityTag(ifNoneMatch, tag)) return { ...current, tag, body: undefined };
    const body =
      form === 'bytes'
        ? this.bodies.bytesOf(current.version.hashes)
        : await this.bodies.jsonOf(list, current, mark, form === 'gzip');
    return { ...current, tag, body };
  }
}
