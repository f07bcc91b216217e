/** Puts the built service through faults: `npm run test:faults`; `rig/campaign.ts` says with which words. */
import { FAULTS } from './index.js';
import { campaign } from '../rig/campaign.js';

await campaign(FAULTS, 'npm run test:faults');
