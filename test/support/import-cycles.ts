/** The imports of each node. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Returns the strongly connected components that contain a cycle, each sorted. */
export const findCycles = (imports: Imports): string[][] => {
  const reachable = new Map(
    [...imports.keys()].map((from) => {
      const seen = new Set<string>();
      const open = [from];
      for (let node; (node = open.pop()) !== undefined;)
        for (const next of imports.get(node) ?? [])
          if (!seen.has(next)) {
            seen.add(next);
            open.push(next);
          }
      return [from, seen] as const;
    }),
  );
  const found = new Set<string>();
  const cycles: string[][] = [];
  for (const [node, seen] of reachable) {
    if (found.has(node) || !seen.has(node)) continue;
    const cycle = [...seen].filter((other) => reachable.get(other)?.has(node)).sort();
    for (const each of cycle) found.add(each);
    cycles.push(cycle);
  }
  return cycles;
};
