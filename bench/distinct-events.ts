import { storedEvents, upstreamEvents } from './events.js';

type Entry = ReturnType<typeof storedEvents>[number];

/**
 * Gives one event after another, each of another id and to another stream.
 * @param run eight hexadecimal digits that no other run on the same store has
 */
export const distinctEvents = (run: string): (() => Entry) => {
  const made = storedEvents(upstreamEvents(1_000, 997));
  let n = 0;
  return () => {
    const { stream, event } = made[(n += 1) % made.length]!;
    const id = `${run}-0000-4000-8000-${String(n).padStart(12, '0')}`;
    return { stream: `${stream}-${run}-${n}`, event: { ...event, id } };
  };
};
