import { fanOut } from './fan-out.js';
import { jsonBombs } from './json-bombs.js';
import { swallowedIds } from './swallowed-ids.js';
import { withstands } from './withstands.js';

await withstands([fanOut, jsonBombs, swallowedIds]);
