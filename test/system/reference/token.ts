/** Stands in the examples for the token of the answer before. */
export const TOKEN = 'q3T0cXlW.mZ1v8Qm0w1c9oYb7Jw2dXg';
