/** The header `Consistency-Token` of a response, for the API reference. */
export const TOKEN_HEADER = {
  'Consistency-Token': {
    description:
      'Names the state that this response belongs to. A request that sends it as `Consistency-Token` is answered from ' +
      'a state that includes it, on any instance.',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9._-]+$' },
  },
} as const;
