/** A bag stores in each member the index of the member. */
export interface BagMember {
  bagIndex: number;
}

/**
 * An unordered collection whose members are added and deleted with every request. A `Map` or a `Set` is unsuitable: V8
 * replaces its internal table as entries are added and deleted, and each replaced table refers to the next one. Once one
 * table is in the old generation, the garbage collector promotes all later tables together with everything that their
 * entries refer to. This costs a busy route a quarter of its throughput. An array keeps no reference to deleted members.
 */
export class Bag<Member extends BagMember> {
  private readonly members: Member[] = [];

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.bagIndex = this.members.length;
    this.members.push(member);
  }

  /** @returns whether the member was in the bag */
  delete(member: Member): boolean {
    if (!this.has(member)) return false;
    const last = this.members.pop()!;
    if (last !== member) {
      last.bagIndex = member.bagIndex;
      this.members[member.bagIndex] = last;
    }
    return true;
  }

  /** Yields each member once, without members that are added or deleted during the iteration. */
  *[Symbol.iterator](): Generator<Member> {
    for (const member of this.members.slice()) if (this.has(member)) yield member;
  }

  private has(member: Member): boolean {
    return this.members[member.bagIndex] === member;
  }
}
