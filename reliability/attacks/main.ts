/** Attacks the built service: `npm run test:security`; `campaign.ts` of the faults' rig says with which words. */
import { campaign } from '../rig/campaign.js';
import { asFault } from './attack.js';
import { ATTACKS } from './index.js';
import { Site } from './rig/site.js';

const site = new Site();
await campaign(
  ATTACKS.map((attack) => asFault(attack, site)),
  'npm run test:security',
  () => site.close(),
);
