import {
  edgeChild,
  edgeLength,
  edgeStart,
  exceptionsRoot,
  labelText,
  nodeFlags,
  rulesRoot,
} from 'tldts/dist/cjs/src/data/trie.js';
import type { HostingSuffixes } from '../../asset-check/lists/hosting-suffixes.js';

/** Returns the suffixes of the Public Suffix List with at least two labels. `*.` stands for every name directly under. */
const publicSuffixes = (): string[] => {
  const offsets: number[] = [];
  for (let edge = 0, offset = 0; edge < edgeLength.length; offset += edgeLength[edge]!, edge += 1) offsets.push(offset);
  const found: string[] = [];
  const walk = (node: number, end: string): void => {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge += 1) {
      const name = labelText.slice(offsets[edge], offsets[edge]! + edgeLength[edge]!) + end;
      const child = edgeChild[edge]!;
      if (nodeFlags[child] !== 0 && end !== '') found.push(name);
      walk(child, `.${name}`);
    }
  };
  walk(rulesRoot, '');
  walk(exceptionsRoot, '');
  return found;
};

/** Returns the last two labels of a host; undefined if it has one. */
export const rootOf = (host: string): string | undefined => {
  const dot = host.lastIndexOf('.');
  return dot === -1 ? undefined : host.slice(host.lastIndexOf('.', dot - 1) + 1);
};

/** Whether and where names of different people begin: the public and the hosting suffixes. */
export class SuffixIndex {
  readonly exact = new Set<string>();
  /** Every name directly under one of these is a suffix. */
  readonly wild = new Set<string>();

  /** The suffixes and the hosts of `wild` by their last two labels. */
  readonly byRoot = new Map<string, string[]>();

  constructor(suffixes: HostingSuffixes) {
    for (const suffix of [...publicSuffixes(), ...suffixes.added])
      if (suffix.startsWith('*.')) this.wild.add(suffix.slice(2));
      else this.exact.add(suffix);
    for (const name of [...this.exact, ...this.wild]) {
      const root = rootOf(name);
      if (root !== undefined) this.byRoot.set(root, [...(this.byRoot.get(root) ?? []), name]);
    }
  }

  /** Whether the host may be a suffix. It is none if it is an exception of the Public Suffix List. */
  mayBe(host: string): boolean {
    return this.exact.has(host) || this.wild.has(host) || this.wild.has(host.slice(host.indexOf('.') + 1));
  }
}
