import type { Command } from 'commander';
import { withProjections } from '../projections.js';
import { operatorName } from '../runtime/operator-name.js';
import { prints, type Result, table } from '../runtime/output.js';
import { withProgress } from '../runtime/progress.js';
import { withNodesToScavenge } from './nodes-to-scavenge.js';
import { countAsset, hashesOf, redactAsset, type RedactionProgress } from './redact-asset.js';

interface RedactOptions {
  readonly dryRun?: boolean;
}

const redact = async (content: string, { dryRun = false }: RedactOptions): Promise<Result> => {
  hashesOf(content);
  return withProjections((session) =>
    withProgress({ positions: 'positions', events: 'events' }, async (bars) => {
      const onProgress = ({ phase, done, fraction }: RedactionProgress): void => bars[phase].update(done, fraction);
      const { events, records, nodes } = dryRun
        ? await countAsset(session, content, onProgress)
        : await redactAsset(session, content, operatorName(), onProgress);
      const lines = [...table(['events', 'number'], Object.entries(events)), `records: ${records}`];
      return withNodesToScavenge({ lines, json: { events, records } }, nodes);
    }),
  );
};

export const addAssetCommands = (program: Command): void => {
  const assets = program.command('assets').description('assets: redact');
  prints(
    assets
      .command('redact')
      .argument('<content>')
      .description('replace the content of an asset by [redacted] in all events and tables of every organization')
      .option('--dry-run', 'count the events and records, and change nothing'),
    redact,
  );
};
