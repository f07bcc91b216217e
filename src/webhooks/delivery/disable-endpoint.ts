import { Conflict, NotFound } from '../../errors.js';
import type { WebhookCommands } from '../endpoints/webhook-commands.js';
import type { Endpoint } from './endpoint.js';

/**
 * Disables an endpoint, unless its organization has changed the endpoint since it was read, or is being erased.
 * @throws Unavailable if the log or the database is unavailable
 */
export const disableEndpoint = async (
  commands: WebhookCommands,
  { organization, webhookId, updatedAt }: Endpoint,
  reason: 'gone' | 'failing',
): Promise<void> => {
  try {
    await commands.execute({ type: 'Disable', organization, webhookId, reason, updatedAt }, { process: 'webhooks' });
  } catch (error) {
    if (!(error instanceof NotFound || error instanceof Conflict)) throw error;
  }
};
