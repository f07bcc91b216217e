const place = () => document.getElementById('problem');

/** Says what is wrong until it is right again. A sentence that stays is not read out again. */
export const showProblem = (sentence = '') => {
  if (place().textContent !== sentence) place().textContent = sentence;
};

/** For a person who hears the page. */
export const announce = (sentence) => {
  document.getElementById('announcement').textContent = sentence;
};
