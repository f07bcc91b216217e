import { networkInterfaces } from 'node:os';
import { isPublicAddress, canonicalAddress } from '../assets/ip-address.js';

/** Reads the interfaces at each call, because the addresses of a laptop, container or VPN change while the process runs. */
const isAddressOfThisHost = (address: string): boolean => {
  const simplest = canonicalAddress(address);
  return Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some(({ address: own }) => canonicalAddress(own) === simplest),
  );
};

/** Whether a text is a public IP address that does not belong to this host. */
export const isReachableAddress = (address: string): boolean =>
  isPublicAddress(address) && !isAddressOfThisHost(address);
