import type { Work } from '../cooperative/time-slices.js';
import type { Timeline } from './timeline.dto.js';

/** Equals `JSON.stringify`, one point at a time. */
export function* timelineJson({ points, ...rest }: Timeline): Work<string> {
  const texts: string[] = [];
  for (const point of points) {
    texts.push(JSON.stringify(point));
    yield;
  }
  return `${JSON.stringify(rest).slice(0, -1)},"points":[${texts.join(',')}]}`;
}
