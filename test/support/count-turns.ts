/** Counts the turns of the event loop in which other work can run, until the work ends. */
export const countTurns = async (work: Promise<unknown>): Promise<number> => {
  let turns = 0;
  let isWorking = true;
  const count = (): void => {
    turns += 1;
    if (isWorking) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isWorking = false;
  return turns;
};
