export const LIST_NAMES = ['all-8b', 'own-8b', 'ask-8b'] as const;
export type ListName = (typeof LIST_NAMES)[number];
export interface BuiltLists {
  readonly lists: ReadonlyMap<ListName, Uint8Array>;
  readonly covers: readonly string[];
  readonly notCovered: readonly { readonly source: string; readonly reason: string }[];
}
