const region = () => document.getElementById('problem');

/** Shows a problem until it is resolved. An unchanged text is not announced again. */
export const showProblem = (sentence = '') => {
  if (region().textContent !== sentence) region().textContent = sentence;
};

/** Announces a text to screen readers. */
export const announce = (sentence) => {
  document.getElementById('announcement').textContent = sentence;
};
