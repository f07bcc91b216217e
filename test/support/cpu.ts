/** What this process has used of the processor so far; unlike a clock it stands still while others use it. ms */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
