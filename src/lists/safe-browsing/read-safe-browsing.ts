import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Invalid } from '../../errors.js';
import { queryOf } from '../../http/requests.js';
import { limit } from '../../limits.js';
import { digestOf } from '../expressions.js';
import { FollowedLists } from '../followed-lists.js';
import { NameReads } from '../names/name-reads.js';
import { NAMES_BETWEEN } from '../names/name-statements.js';
import { namedBy } from '../served-list.js';
import type { Responses } from './messages.js';
import { PrefixLists, WAIT_SECONDS } from './prefix-lists.js';

const PREFIX_BYTES = 4;
const NAME = /^[a-z0-9]{1,32}(?:-[a-z0-9]{1,32}){0,3}$/;
const MAX_LISTS = limit('lists in a request of Safe Browsing', 32, 'lists', 'request', '400');
/** A link has at most some 30 expressions. More would not fit into a URL of 8,192 bytes, however they are encoded. */
const MAX_PREFIXES = limit('prefixes in a request of Safe Browsing', 256, 'prefixes', 'request', '400');
const MAX_FOUND = limit('full hashes with the same prefix', 100, 'hashes', 'value', 'others are not found');
const LOWEST = Buffer.alloc(4);
const HIGHEST = Buffer.alloc(4, 0xff);

/** Reads lists of prefixes in the order of their names. */
export class ReadPrefixLists extends queryOf<
  Responses['BatchGetHashListsResponse'],
  {
    readonly names: readonly string[];
    /** The versions that the client has, in base64. */
    readonly versions: readonly string[];
  }
>() {}

/** Reads the full hashes of blocked contents. */
export class SearchHashes extends queryOf<
  Responses['SearchHashesResponse'],
  {
    /** Prefixes of 4 bytes, in base64. */
    readonly prefixes: readonly string[];
  }
>() {}

@QueryHandler(ReadPrefixLists)
export class ReadPrefixListsHandler implements IQueryHandler<ReadPrefixLists> {
  constructor(private readonly lists: PrefixLists) {}

  /** @throws Invalid for names that are no names of lists, repeated or too many; or as `PrefixLists.read` */
  async execute({ names, versions }: ReadPrefixLists): Promise<Responses['BatchGetHashListsResponse']> {
    if (names.length === 0) throw new Invalid('names must name at least one list');
    if (names.length > MAX_LISTS || versions.length > MAX_LISTS)
      throw new Invalid(`At most ${MAX_LISTS} names and versions can be sent at once`);
    const wrong = names.find((name) => !NAME.test(name));
    if (wrong !== undefined) throw new Invalid('names must be names of lists, such as all-4b');
    if (new Set(names).size < names.length) throw new Invalid('Each name can be sent once');
    const known = versions.map((version) => Buffer.from(version, 'base64').toString('latin1'));
    const hashLists = [];
    for (const name of names) hashLists.push(await this.lists.read(name, known));
    return { hashLists };
  }
}

@QueryHandler(SearchHashes)
export class SearchHashesHandler implements IQueryHandler<SearchHashes> {
  constructor(
    private readonly names: NameReads,
    private readonly followed: FollowedLists,
  ) {}

  /**
   * @throws Invalid unless there are 1 to 256 prefixes of 4 bytes; NotBuilt until all names are stored, because a blocked
   *   host may be stored before what is not blocked below it; the database's error
   */
  async execute({ prefixes }: SearchHashes): Promise<Responses['SearchHashesResponse']> {
    if (prefixes.length === 0 || prefixes.length > MAX_PREFIXES)
      throw new Invalid(`Send 1 to ${MAX_PREFIXES} hashPrefixes`);
    const wanted = prefixes.map((prefix) => Buffer.from(prefix, 'base64'));
    if (wanted.some(({ length }) => length !== PREFIX_BYTES))
      throw new Invalid(`hashPrefixes must have ${PREFIX_BYTES} bytes each, in base64`);
    for (const list of this.followed.lists) namedBy(list);
    const rows = await this.names.run(NAMES_BETWEEN, {
      lowest: wanted.map((prefix) => Buffer.concat([prefix, LOWEST])),
      highest: wanted.map((prefix) => Buffer.concat([prefix, HIGHEST])),
      limit: MAX_FOUND,
    });
    return {
      fullHashes: rows.map(({ expression }) => ({
        fullHash: digestOf(expression),
        fullHashDetails: [{ threatType: 'SOCIAL_ENGINEERING' }],
      })),
      cacheDuration: { seconds: WAIT_SECONDS },
    };
  }
}
