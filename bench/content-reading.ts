import { parseContent } from '../src/assets/parse-content.js';
import { generatedContents, hostileContents } from '../test/support/cases/hostile-shapes.js';
import { forgetLastTwo } from '../test/support/forget-last-two.js';
import type { Goal } from './goal.js';
import { quantile, quartilesOf } from './statistics.js';

const LENGTHS = [1_024, 2_048, 4_096] as const;

/**
 * Returns the median duration of parsing the content, in ms. The median is robust against other load of the machine.
 */
const timeOf = (content: string, sliceMs: number): number => {
  const times: number[] = [];
  const end = performance.now() + sliceMs;
  let ended: number;
  do {
    forgetLastTwo();
    const started = performance.now();
    parseContent(content);
    ended = performance.now();
    times.push(ended - started);
  } while (ended < end);
  return quantile(times, 0.5);
};

interface Slowest {
  readonly shape: string;
  readonly ms: number;
}

/** The number of shapes that are measured in full, after a short measurement of all. */
const CANDIDATES = 20;
const SHORT_SLICE_MS = 1;

type Shape = readonly [name: string, content: string];
const shapesOf = (length: number): readonly Shape[] => [...hostileContents(length), ...generatedContents(length)];

/** Returns the shapes that are probably the slowest. */
const candidatesOf = (length: number): readonly Shape[] =>
  shapesOf(length)
    .map((shape) => ({ shape, ms: timeOf(shape[1], SHORT_SLICE_MS) }))
    .sort((one, other) => other.ms - one.ms)
    .slice(0, CANDIDATES)
    .map(({ shape }) => shape);

const slowestOf = (candidates: readonly Shape[], sliceMs: number): Slowest =>
  candidates
    .map(([shape, content]) => ({ shape, ms: timeOf(content, sliceMs) }))
    .reduce((one, other) => (other.ms > one.ms ? other : one));

/** Measures the slowest of many shapes of content at three lengths, each twice the previous one. */
export const contentReading: Goal = {
  name: 'G15',
  run: async (bench) => {
    const [rounds, sliceMs] = bench.sizes.quick ? [1, 1] : [5, 20];
    for (const [, content] of hostileContents(LENGTHS[0])) timeOf(content, sliceMs);
    const slowest = LENGTHS.map((length) => {
      const candidates = candidatesOf(length);
      const measured = Array.from({ length: rounds }, () => slowestOf(candidates, sliceMs));
      bench.say(`G15: ${length} characters, slowest ${measured.map(({ shape }) => shape).join(', ')}`);
      return measured;
    });
    const medians = slowest.map((round) => quartilesOf(round.map(({ ms }) => ms)).median);
    const last = slowest.at(-1)!;
    bench.keepGrowth({
      what: 'Parsing the slowest shape of content',
      columns: ['characters', 'shape', 'ms', 'ratio to the previous length'],
      rows: LENGTHS.map((length, index) => [
        length.toLocaleString('en-US'),
        slowest[index]![0]!.shape,
        medians[index]!.toPrecision(3),
        index === 0 ? '' : (medians[index]! / medians[index - 1]!).toPrecision(3),
      ]),
    });
    return [
      {
        what: `reading content: the slowest of ${shapesOf(LENGTHS[0]).length} shapes of 4,096 characters`,
        against: '-',
        measured: quartilesOf(last.map(({ ms }) => ms)),
        unit: 'ms',
        must: 0.15,
        aim: 0.05,
        more: false,
        note: last[0]!.shape,
      },
    ];
  },
};
