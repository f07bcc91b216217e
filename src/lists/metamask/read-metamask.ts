import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Invalid, NotFound } from '../../errors.js';
import { queryOf } from '../../http/requests.js';
import { FollowedLists } from '../followed-lists.js';
import type { ServedList } from '../served-list.js';
import { MetaMaskLists } from './metamask-lists.js';

/** The lists that MetaMask's controller can read. */
export const METAMASK_LISTS = ['all-8b', 'own-8b'] as const;
const SECOND = /^\d{1,11}$/;

/** Reads a whole list: JSON, compressed with gzip. */
export class ReadWholeForMetaMask extends queryOf<Buffer, { readonly name: string }>() {}

/** Reads what has changed in a list after a second: JSON, compressed with gzip. */
export class ReadDifferencesForMetaMask extends queryOf<Buffer, { readonly name: string; readonly second: string }>() {}

/**
 * Returns a list and the list of what only the service can answer.
 * @throws NotFound
 */
const listsOf = ({ lists }: FollowedLists, name: string): [list: ServedList, ask: ServedList] => {
  const find = (wanted: string): ServedList | undefined => lists.find((each) => each.name === wanted);
  const list = METAMASK_LISTS.some((each) => each === name) ? find(name) : undefined;
  if (list === undefined) throw new NotFound(`There is no such list; the lists are ${METAMASK_LISTS.join(', ')}`);
  return [list, find('ask-8b')!];
};

@QueryHandler(ReadWholeForMetaMask)
export class ReadWholeForMetaMaskHandler implements IQueryHandler<ReadWholeForMetaMask> {
  constructor(
    private readonly followed: FollowedLists,
    private readonly metamask: MetaMaskLists,
  ) {}

  /** @throws NotFound, or as `MetaMaskLists.whole` */
  async execute({ name }: ReadWholeForMetaMask): Promise<Buffer> {
    return this.metamask.whole(...listsOf(this.followed, name));
  }
}

@QueryHandler(ReadDifferencesForMetaMask)
export class ReadDifferencesForMetaMaskHandler implements IQueryHandler<ReadDifferencesForMetaMask> {
  constructor(
    private readonly followed: FollowedLists,
    private readonly metamask: MetaMaskLists,
  ) {}

  /** @throws NotFound, Invalid if `second` is not a number, or as `MetaMaskLists.since` */
  async execute({ name, second }: ReadDifferencesForMetaMask): Promise<Buffer> {
    const lists = listsOf(this.followed, name);
    if (!SECOND.test(second)) throw new Invalid('diffsSince must be followed by seconds since 1970, in digits');
    return this.metamask.since(...lists, Number(second));
  }
}
