/** Returns the processor time of this process in ms. Unlike a clock, it is independent of other processes. */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
