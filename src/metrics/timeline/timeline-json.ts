import type { Work } from '../../flow/time-slices.js';
import { arrayJson } from '../../http/json/array-json.js';
import type { Timeline } from './timeline.dto.js';

/** Returns the same text as `JSON.stringify`, but yields after each point. */
export function* timelineJson({ points, ...rest }: Timeline): Work<string> {
  return `${JSON.stringify(rest).slice(0, -1)},"points":${yield* arrayJson(points)}}`;
}
