import type { Fact } from '../../src/events/facts.js';
import { dayOf } from '../../src/events/instant.js';
import { isLater, type RecordState } from '../../src/events/record.js';

/** A state of a record that was its newest state when the log stored it. */
export interface State extends RecordState {
  readonly eventId: string;
  /** Where the log stored the event of the state. */
  readonly position: number;
  readonly facts: readonly Fact[];
  /** The organizations that the state concerns although it has no facts of theirs. Null: none. */
  readonly named: readonly string[] | null;
}

/**
 * The states that were the newest ones of a record, in the order of the log. Versions ascend too. The order of storing
 * decides what was known, so a state that was already outdated when it was stored is not part of the history.
 */
export type History = readonly State[];

/** Adds a state to a history. The order of calls does not matter, so that events may be applied late. */
export const withState = (history: History, state: State): History => {
  const last = history.at(-1);
  if (last === undefined || last.position < state.position)
    return last === undefined || isLater(state, last) ? [...history, state] : history;
  const before = history.filter(({ position }) => position <= state.position);
  const newest = before.at(-1);
  if (newest !== undefined && !isLater(state, newest)) return history;
  return [...before, state, ...history.slice(before.length).filter((later) => isLater(later, state))];
};

/** A fact that counts since a position of the log. */
export interface CountedFact {
  readonly fact: Fact;
  readonly record: string;
  /** Undefined: the position is stored in the row of the fact. */
  readonly since: number | undefined;
}

/** A fact that counted from one position of the log up to the event before another position. */
export interface FormerFact extends CountedFact {
  readonly until: number;
}

/**
 * Returns when which facts of a record counted. Intermediate states count for the past, so the result does not depend on
 * how the log is split into batches.
 * @param isStored whether the facts of the first state have rows, which know since when these facts count
 */
export const countedIn = (
  history: History,
  isStored: boolean,
): { readonly counted: readonly CountedFact[]; readonly former: readonly FormerFact[] } => {
  const [only] = history;
  if (history.length === 1 && !isStored)
    return { counted: only!.facts.map((fact) => ({ fact, record: only!.id, since: only!.position })), former: [] };
  const counted = new Map<string, CountedFact>();
  const former: FormerFact[] = [];
  for (const [index, { id: record, facts, position }] of history.entries()) {
    const names = facts.map(String);
    const present = new Set(names);
    for (const [name, ended] of counted)
      if (!present.has(name)) {
        counted.delete(name);
        former.push({ ...ended, until: position });
      }
    for (const [n, fact] of facts.entries())
      if (!counted.has(names[n]!))
        counted.set(names[n]!, { fact, record, since: isStored && index === 0 ? undefined : position });
  }
  return { counted: [...counted.values()], former };
};

/**
 * Returns how late a fact was stored: 0 if on the UTC day of its instant; n if 2^(n-1) to 2^n - 1 days after that day; -n
 * if as many days before it. A query for the past examines, of each class, only the facts whose delay can include the
 * day in question.
 * @param recordedAt ms
 */
export const lagOf = ([, , at]: Fact, recordedAt: number): number => {
  const days = dayOf(recordedAt) - dayOf(at);
  return days === 0 ? 0 : Math.sign(days) * Math.abs(days).toString(2).length;
};

/** Returns the number of hexadecimal digits of the time for which a fact counted, in positions. */
export const spanOf = ({ since, until }: { readonly since: number; readonly until: number }): number =>
  (until - since).toString(16).length;
