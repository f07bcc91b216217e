/**
 * Starts the longest specs first, by their seconds at the last release, because a clean checkout has no times of its
 * own, and a long spec that starts last runs alone. New specs start after those of more than 20 s, large files first.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

const SECONDS = JSON.parse(readFileSync(new URL('seconds.json', import.meta.url), 'utf8'));
const SECONDS_OF_A_NEW_SPEC = 20;

const secondsOf = ({ path, context }) => SECONDS[relative(context.config.rootDir, path)] ?? SECONDS_OF_A_NEW_SPEC;

export default class LongestFirst extends Sequencer {
  /** Jest's own order stays among specs of the same length: what failed, then what took long here, then large files. */
  sort(tests) {
    return super.sort(tests).sort((one, other) => secondsOf(other) - secondsOf(one));
  }
}
