/** What a bag knows of a member: its index. */
export interface Placed {
  place: number;
}

/**
 * Members that come and go with every request, in no order. A `Map` or `Set` would not do: V8 replaces its table as
 * entries come and go, and each replaced table refers to the next. Once one of them is in the old space, the garbage
 * collector promotes all later ones with everything their entries refer to, which costs a busy route a quarter of its
 * speed. An array forgets a member when it leaves.
 */
export class Bag<Member extends Placed> {
  private readonly members: Member[] = [];

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.place = this.members.length;
    this.members.push(member);
  }

  /** @returns whether it was in the bag */
  delete(member: Member): boolean {
    if (!this.has(member)) return false;
    const last = this.members.pop()!;
    if (last !== member) {
      last.place = member.place;
      this.members[member.place] = last;
    }
    return true;
  }

  /** Each member once; members that are deleted meanwhile are left out, and those that are added. */
  *[Symbol.iterator](): Generator<Member> {
    for (const member of this.members.slice()) if (this.has(member)) yield member;
  }

  private has(member: Member): boolean {
    return this.members[member.place] === member;
  }
}
