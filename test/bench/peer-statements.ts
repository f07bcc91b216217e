/** The one indexed query of G2, the same for both. */
export const FIND_BRAND = {
  name: 'bench-find-brand',
  text: 'select name from read.brands where organization = $1 and brand = $2',
};
