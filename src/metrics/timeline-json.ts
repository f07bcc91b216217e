import type { Work } from '../cooperative/time-slices.js';
import type { Timeline } from './timeline.dto.js';

/** As `JSON.stringify` writes it, a point at a time. */
export function* timelineJson({ points, ...rest }: Timeline): Work<string> {
  const texts: string[] = [];
  for (const point of points) {
    texts.push(JSON.stringify(point));
    yield;
  }
  return `${JSON.stringify(rest).slice(0, -1)},"points":[${texts.join(',')}]}`;
}
