const place = () => document.getElementById('problem');

/** Shows a problem until it is resolved. An unchanged text is not announced again. */
export const showProblem = (sentence = '') => {
  if (place().textContent !== sentence) place().textContent = sentence;
};

/** Announces a text to screen readers. */
export const announce = (sentence) => {
  document.getElementById('announcement').textContent = sentence;
};
