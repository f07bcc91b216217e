import { isInternalAddress } from './ip-address.js';

/** Names that stay on the machine or its own network (RFC 6761, 6762, 8375; ICANN's reservation of `internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/** Whether a normalised host belongs to the browser, the machine or a private network. */
export const isInternalHost = (host: string, isName: boolean): boolean =>
  isName ? PRIVATE_NAMES.test(host) : isInternalAddress(host);

/** Addresses of the browser or the machine. After `view-source` and `blob`, the rest is the browser's too. */
const INTERNAL_SCHEME =
  /^(?:about|blob|brave|chrome|chrome-(?:error|extension|native|search|untrusted)|data|devtools|edge|extension|file|filesystem|javascript|jar|livescript|moz-extension|ms-browser-extension|opera|resource|safari-(?:web-)?extension|vbscript|view-source|vivaldi|wyciwyg):/i;
/** @param text refanged */
export const isInternalScheme = (text: string): boolean => INTERNAL_SCHEME.test(text);
