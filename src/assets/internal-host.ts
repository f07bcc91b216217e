import { isInternalAddress } from './ip-address.js';

/** Names that stay on the machine or its own network (RFC 6761, 6762, 8375; ICANN's reservation of `internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/** Whether a normalised host belongs to the browser, the machine or a private network. */
export const isInternalHost = (host: string, isName: boolean): boolean =>
  isName ? PRIVATE_NAMES.test(host) : isInternalAddress(host);
