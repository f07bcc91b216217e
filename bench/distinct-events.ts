import { storedEvents, upstreamEvents } from './events.js';

type Entry = ReturnType<typeof storedEvents>[number];

/**
 * Returns a function that creates events with distinct ids and distinct streams.
 * @param run eight hexadecimal digits, different for each run on the same store
 */
export const distinctEvents = (run: string): (() => Entry) => {
  const templates = storedEvents(upstreamEvents(1_000, 997));
  let n = 0;
  return () => {
    const { stream, event } = templates[(n += 1) % templates.length]!;
    const id = `${run}-0000-4000-8000-${String(n).padStart(12, '0')}`;
    return { stream: `${stream}-${run}-${n}`, event: { ...event, id } };
  };
};
