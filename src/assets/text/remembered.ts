/**
 * Makes a function of a text remember its last two results, because each reader of a content asks for the same things
 * of the text as sent and of the text without what copying left in it.
 * @param of pure
 */
export const remembered = <T>(of: (text: string) => T): ((text: string) => T) => {
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
