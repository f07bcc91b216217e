/** The parts of the API reference that all routes with a webhook id share. */
export const NO_SUCH_WEBHOOK = 'The organization has no webhook with this id.';
export const WEBHOOK_ID = {
  name: 'id',
  description: "The webhook's id.",
  schema: { type: 'string', example: 'wh_4a7d1ed414474e4033ac29cc' },
} as const;
