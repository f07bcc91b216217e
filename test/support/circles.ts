/** Who imports whom. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** The groups of nodes that reach each other (strongly connected components of more than one), each sorted. */
export const circlesIn = (imports: Imports): string[][] => {
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
  const circles: string[][] = [];
  for (const [node, seen] of reachable) {
    if (found.has(node) || !seen.has(node)) continue;
    const circle = [...seen].filter((other) => reachable.get(other)?.has(node)).sort();
    for (const each of circle) found.add(each);
    circles.push(circle);
  }
  return circles;
};
