/** `npm run reliability` runs faults and attacks at full scale against the built service. */
import { runScenarios } from './rig/run-scenarios.js';
import { SCENARIOS } from './scenarios.js';

await runScenarios(SCENARIOS);
