import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { ExportRecordsHandler } from './export-records.js';
import { FeedWatch } from './feed/feed-watch.js';
import { FeedController } from './feed/feed.controller.js';
import { ReadFeedHandler } from './feed/read-feed.js';
import { InitialBackfill, RecordQueries } from './record-queries.js';
import { GetRecordHandler, ListRecordsHandler } from './list-records.js';
import { ReadObjectsHandler } from './taxii/read-objects.js';
import { TAXII_CONTROLLERS } from './taxii/taxii.controller.js';
import { RECORDS_CONTROLLERS } from './records.controller.js';

@Module({
  imports: [ReadModelsModule, EventLogModule],
  controllers: [...RECORDS_CONTROLLERS, FeedController, ...TAXII_CONTROLLERS],
  providers: [
    InitialBackfill,
    RecordQueries,
    ListRecordsHandler,
    GetRecordHandler,
    ExportRecordsHandler,
    FeedWatch,
    ReadFeedHandler,
    ReadObjectsHandler,
  ],
  exports: [InitialBackfill],
})
export class RecordsModule {}
