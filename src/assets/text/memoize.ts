/**
 * Memoizes the last two results of a function. Two are enough: parsing one content calls the function repeatedly with
 * the text as sent and with the cleaned text.
 * @param of a pure function
 */
export const memoizeLastTwo = <T>(of: (text: string) => T): ((text: string) => T) => {
  let text: string | undefined;
  let result: T;
  let textBefore: string | undefined;
  let resultBefore: T;
  return (asked) => {
    if (asked === text) return result;
    if (asked === textBefore) return resultBefore;
    const found = of(asked);
    textBefore = text;
    resultBefore = result;
    text = asked;
    result = found;
    return found;
  };
};
