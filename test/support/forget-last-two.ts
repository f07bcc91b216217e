import { parseContent } from '../../src/assets/parse-content.js';

/** Makes the parser compute again, whatever it read before: it remembers its results for the last two texts. */
export const forgetLastTwo = (): void => {
  for (const content of ['é[.]example', 'ü[.]example']) parseContent(content);
};
