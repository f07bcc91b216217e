import type { Command } from 'commander';
import { formatInstant } from '../events/instant.js';
import { WebhookCommands } from '../webhooks/webhook-commands.js';
import { listAllWebhooks } from '../webhooks/list-webhooks.js';
import { operatorName, withDatabase, withLog, requireSlug } from './session.js';
import { prints, type Result, table } from './output.js';

interface ListOptions {
  readonly organization?: string;
}

interface WebhookOptions {
  readonly organization: string;
  readonly id: string;
}

const instant = (ms: number | null): string | null => (ms === null ? null : formatInstant(ms));

const HEADINGS = 'organization id url state disabledReason lastSuccessAt nextAttemptAt masterKeys'.split(' ');

const list = ({ organization }: ListOptions): Promise<Result> => {
  if (organization !== undefined) requireSlug(organization, '--organization');
  return withDatabase(async (pool) => {
    const webhooks = (await listAllWebhooks(pool, organization)).map((webhook) => ({
      ...webhook,
      lastSuccessAt: instant(webhook.lastSuccessAt),
      nextAttemptAt: instant(webhook.nextAttemptAt),
    }));
    return { lines: table(HEADINGS, webhooks.map(Object.values)), json: webhooks };
  });
};

const change =
  (type: 'Disable' | 'Enable') =>
  ({ organization, id: webhookId }: WebhookOptions): Promise<Result> =>
    withLog(async ({ log, pool }) => {
      const command =
        type === 'Disable'
          ? ({ type, organization, webhookId, reason: 'requested' } as const)
          : ({ type, organization, webhookId } as const);
      const { result } = await new WebhookCommands(log, pool).execute(command, { operator: operatorName() });
      const { webhook } = result;
      return {
        lines: [`${webhookId} of ${organization} is ${webhook.state === 'ACTIVE' ? 'enabled' : 'disabled'}`],
        json: { organization, id: webhookId, state: webhook.state },
      };
    });

export const addWebhookCommands = (program: Command): void => {
  const webhooks = program.command('webhooks').description('webhooks of organizations: list, disable, enable');
  prints(
    webhooks
      .command('list')
      .description('list each webhook with its state, its URL without the query, and the master keys of its secrets')
      .option('--organization <slug>', 'only webhooks of this organization'),
    list,
  );
  for (const [name, type, description] of [
    ['disable', 'Disable', 'pause deliveries to a webhook; no records are lost'],
    ['enable', 'Enable', 'resume deliveries to a webhook, from the last delivered record'],
  ] as const)
    prints(
      webhooks
        .command(name)
        .description(description)
        .requiredOption('--organization <slug>', 'the organization')
        .requiredOption('--id <id>', 'the webhook'),
      change(type),
    );
};
