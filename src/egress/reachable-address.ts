import { networkInterfaces } from 'node:os';
import { isPublicAddress, canonicalAddress } from '../assets/ip-address.js';

/** Read each time: a laptop, a container or a VPN changes its addresses while the process runs. */
const isOwn = (address: string): boolean => {
  const simplest = canonicalAddress(address);
  return Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some(({ address: own }) => canonicalAddress(own) === simplest),
  );
};

/** Whether a text is the IP address of another host on the public Internet. */
export const isReachableAddress = (address: string): boolean => isPublicAddress(address) && !isOwn(address);
