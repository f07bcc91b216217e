const P = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})`;

/** A URI, or a relative reference whose first segment has no colon (RFC 3986). */
export const URI_REFERENCE = new RegExp(
  String.raw`^(?:[A-Za-z][A-Za-z0-9+.\-]*:|(?![^/?#]*:))` +
    String.raw`(?://(?:${P}*@)?(?:\[[0-9A-Fa-f:.vV]+\](?::\d*)?|${P}*)(?=[/?#]|$))?` +
    String.raw`(?:${P}|/)*(?:\?(?:${P}|[/?])*)?(?:#(?:${P}|[/?])*)?$`,
);

/** @param text at most 1,024 characters */
export const isUriReference = (text: string): boolean => URI_REFERENCE.test(text);
