/** The tables of the Public Suffix List in `tldts`, whose index exports only look-ups in them. */
declare module 'tldts/dist/cjs/src/data/trie.js' {
  export const edgeStart: ArrayLike<number>;
  export const edgeChild: ArrayLike<number>;
  export const edgeLength: ArrayLike<number>;
  export const labelText: string;
  export const nodeFlags: ArrayLike<number>;
  export const rulesRoot: number;
  export const exceptionsRoot: number;
}
