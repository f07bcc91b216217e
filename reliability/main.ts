/** Runs faults and attacks at full dose against the built service: `npm run reliability`. */
import { campaign } from './rig/campaign.js';
import { SCENARIOS } from './scenarios.js';

await campaign(SCENARIOS);
