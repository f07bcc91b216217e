/**
 * Memoizes the last two results of a function. Two results are enough, because parsing one content calls the function
 * repeatedly with two texts: the text as sent and the cleaned text.
 * @param compute a pure function
 */
export const memoizeLastTwo = <T>(compute: (text: string) => T): ((text: string) => T) => {
  let text: string | undefined;
  let result: T;
  let textBefore: string | undefined;
  let resultBefore: T;
  return (argument) => {
    if (argument === text) return result;
    if (argument === textBefore) return resultBefore;
    const found = compute(argument);
    textBefore = text;
    resultBefore = result;
    text = argument;
    result = found;
    return found;
  };
};
