import { fanOut } from './fan-out.js';
import { jsonBombs } from './json-bombs.js';
import { largeAnswers } from './large-answers.js';
import { movedMembers } from './moves.js';
import { swallowedIds } from './swallowed-ids.js';
import { withstands } from '../withstands.js';

await withstands([fanOut, jsonBombs, movedMembers, swallowedIds, largeAnswers]);
