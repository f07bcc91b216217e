import { createApp, createLogger } from './app.module.js';
import { readConfig } from './config.js';

const config = readConfig();
const logger = createLogger(config);
const app = await createApp(config, logger);
await app.listen({ port: config.port, host: config.host });
logger.log(`Listening on ${await app.getUrl()}`, 'main');
