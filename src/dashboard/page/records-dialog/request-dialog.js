import { sentenceOfFailure } from '../failure.js';

/**
 * Makes a dialog that shows what it requests from the API, or why a request failed.
 * @param onClose removes what the dialog shows
 * @param sentenceOf returns the sentence for a failure
 */
export const requestDialog = (dialog, onClose, sentenceOf = sentenceOfFailure) => {
  const problem = dialog.querySelector('[role=alert]');
  let aborter;
  let failed;
  const close = () => dialog.close();

  /**
   * Runs `work`. If `work` fails, shows the failure, unless the dialog has been closed or has begun something else.
   * @returns whether `work` succeeded; undefined if it was replaced
   */
  const attempt = async (work) => {
    const { signal } = aborter;
    problem.textContent = '';
    try {
      await work(signal);
      return true;
    } catch (failure) {
      if (signal.aborted) return undefined;
      problem.textContent = sentenceOf(failure);
      if (failed(failure)) close();
      return false;
    }
  };

  return {
    /** @param onFailure called with each failure; returns whether the key is no longer accepted */
    start(onFailure) {
      failed = onFailure;
      dialog.querySelector('.close').addEventListener('click', close);
      dialog.addEventListener('close', () => {
        aborter?.abort();
        problem.textContent = '';
        onClose();
        // The element that opened the dialog may have been replaced while the dialog was open.
        if (document.activeElement === document.body) document.getElementById('main').focus();
      });
    },
    attempt,
    /** Attempts `work` in place of what the dialog has requested so far. */
    begin(work) {
      aborter?.abort();
      aborter = new AbortController();
      return attempt(work);
    },
    show: () => dialog.open || dialog.showModal(),
    /** Closes the dialog, also because the user of the next key must not see what it shows. */
    clear: () => dialog.open && close(),
  };
};
