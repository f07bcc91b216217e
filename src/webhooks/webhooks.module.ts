import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { RecordsModule } from '../records/records.module.js';
import { DeliveriesController } from './deliveries.controller.js';
import {
  ChangeWebhookHandler,
  CreateWebhookHandler,
  DeleteWebhookHandler,
  ReplayWebhookHandler,
  RotateSecretHandler,
  Secrets,
  StartPositions,
} from './change-webhook.js';
import { ListAttemptsHandler, ListWebhooksHandler } from './list-webhooks.js';
import { TestWebhookHandler } from './test-webhook.js';
import { AppliedWebhookCommands, WebhookCommands } from './webhook-commands.js';
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
