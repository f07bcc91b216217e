const HEADER = 20;

/** Returns the elements of an array parameter in PostgreSQL's binary format, without nulls, each as its bytes. */
const elementsOf = (array: unknown): Buffer[] => {
  if (!Buffer.isBuffer(array)) throw new Error(`Not in binary format: ${String(array)}`);
  const elements: Buffer[] = [];
  for (let at = HEADER; at < array.length; at += 4 + array.readInt32BE(at))
    elements.push(array.subarray(at + 4, at + 4 + array.readInt32BE(at)));
  return elements;
};

export const textsIn = (array: unknown): string[] => elementsOf(array).map((element) => element.toString());

export const bigintsIn = (array: unknown): number[] =>
  elementsOf(array).map((element) => Number(element.readBigInt64BE()));
