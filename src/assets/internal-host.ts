import { isInternalAddress } from './ip-address.js';

/** Names that resolve only on the machine or a private network (RFC 6761, 6762, 8375; ICANN reserved `internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/** Whether a normalized host is on the machine or a private network. */
export const isInternalHost = (host: string, isName: boolean): boolean =>
  isName ? PRIVATE_NAMES.test(host) : isInternalAddress(host);

/**
 * Schemes of addresses inside the browser or on the machine. `view-source:` and `blob:` are internal even if a web
 * address follows the scheme.
 */
const INTERNAL_SCHEME =
  /^(?:about|blob|brave|chrome|chrome-(?:error|extension|native|search|untrusted)|data|devtools|edge|extension|file(?!:[\\/]{2}(?:[\\/]{2,3})?(?!localhost(?:[\\/:]|$)|[a-z][:|])[^\\/?#:])|filesystem|javascript|jar|livescript|moz-extension|ms-browser-extension|opera|resource|safari-(?:web-)?extension|vbscript|view-source|vivaldi|wyciwyg):/i;
/** @param text text after `refang` */
export const isInternalScheme = (text: string): boolean => INTERNAL_SCHEME.test(text);
