import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { RecordsModule } from '../records/records.module.js';
import { DeliveriesController } from './deliveries.controller.js';
import { ChangeWebhookHandler } from './endpoints/change-webhook.js';
import { CreateWebhookHandler } from './endpoints/create-webhook.js';
import { DeleteWebhookHandler } from './endpoints/delete-webhook.js';
import { ListAttemptsHandler } from './endpoints/list-attempts.js';
import { ListWebhooksHandler } from './endpoints/list-webhooks.js';
import { ReplayWebhookHandler } from './endpoints/replay-webhook.js';
import { RotateSecretHandler } from './endpoints/rotate-secret.js';
import { Secrets } from './endpoints/secrets.js';
import { StartPositions } from './endpoints/start-position.js';
import { TestWebhookHandler } from './endpoints/test-webhook.js';
import { AppliedWebhookCommands, WebhookCommands } from './endpoints/webhook-commands.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({
  imports: [EventLogModule, ReadModelsModule, QuotasModule, RecordsModule],
  controllers: [WebhooksController, DeliveriesController],
  providers: [
    WebhookCommands,
    AppliedWebhookCommands,
    Secrets,
    StartPositions,
    CreateWebhookHandler,
    ChangeWebhookHandler,
    DeleteWebhookHandler,
    RotateSecretHandler,
    ReplayWebhookHandler,
    TestWebhookHandler,
    ListWebhooksHandler,
    ListAttemptsHandler,
  ],
})
export class WebhooksModule {}
