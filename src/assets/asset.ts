/** What is checked, blocked or grouped, as it was reported. */
export interface Asset {
  readonly type: string;
  readonly content: string;
}
