/** An asset to check, block or group, as reported. */
export interface Asset {
  readonly type: string;
  readonly content: string;
}
