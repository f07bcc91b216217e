/**
 * Repeats a task while the page is visible.
 * @param work receives a signal that aborts when the next run replaces this run; returns the delay until the next run
 *   in ms
 */
export const startLive = (work) => {
  let timer;
  let aborter;
  let due = 0;

  const plan = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') timer = setTimeout(now, Math.max(0, due - Date.now()));
  };
  const now = async () => {
    clearTimeout(timer);
    aborter?.abort();
    const { signal } = (aborter = new AbortController());
    // The next run is scheduled only after the current run has ended.
    due = Infinity;
    const wait = await work(signal);
    if (signal.aborted) return;
    due = Date.now() + wait;
    plan();
  };
  const resume = () => due !== Infinity && plan();
  document.addEventListener('visibilitychange', resume);
  addEventListener('online', now);
  return {
    now,
    stop: () => {
      clearTimeout(timer);
      aborter?.abort();
      document.removeEventListener('visibilitychange', resume);
      removeEventListener('online', now);
    },
  };
};
