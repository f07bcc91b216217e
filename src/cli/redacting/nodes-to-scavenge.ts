import type { Result } from '../runtime/output.js';

/** Adds to a result which nodes still have the redacted contents in their files. */
export const withNodesToScavenge = (
  { lines, json }: Pick<Result, 'lines'> & { readonly json: object },
  nodes: readonly string[],
): Result =>
  nodes.length === 0
    ? { lines, json }
    : {
        lines: [
          ...lines,
          ...nodes.map(
            (node) => `The EventStoreDB at ${node} has the contents until every node behind it is scavenged`,
          ),
        ],
        json: { ...json, nodesToScavenge: nodes },
      };
