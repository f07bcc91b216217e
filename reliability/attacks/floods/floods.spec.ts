import { floodsWithoutKey } from './floods-without-key.js';
import { noisyTenant } from './noisy-tenant.js';
import { rateLimit } from './rate-limit.js';
import { withstands } from '../withstands.js';

await withstands([floodsWithoutKey, noisyTenant, rateLimit]);
