/** Which records a number of the organization counts: their list, and their statuses. */
const OF_ORGANIZATION = {
  newThreats: ['threats', ['BLOCKED', 'APPROVED', 'AUTO_APPROVED']],
  threatsWatchlisted: ['threats', ['WATCHLISTED']],
  reports: ['reports'],
  takedownsFiled: ['takedowns'],
  takedownsCompleted: ['takedowns', ['COMPLETED']],
  takedownsOpen: ['takedowns', ['TODO', 'IN_PROGRESS', 'PENDING_RETRACTION', 'RETRACTION_SENT']],
  takedownsCanceled: ['takedowns', ['CANCELED']],
  takedownsRetracted: ['takedowns', ['RETRACTED']],
};
/** Where a brand's differ: its threats are the verdicts that name it, and its watchlist is not counted. */
const OF_BRAND = { newThreats: ['verdicts', ['BLOCKED']], threatsWatchlisted: undefined };

/** Of takedowns, where a number counts them all. */
const TAKEDOWN_STATUSES = [
  ...OF_ORGANIZATION.takedownsOpen[1],
  ...['takedownsCompleted', 'takedownsCanceled', 'takedownsRetracted'].flatMap((key) => OF_ORGANIZATION[key][1]),
];

/** @returns the list's name, the statuses that are counted (absent: all) and those to choose from; undefined: no list */
export const listOf = (metric, brandSlug) => {
  const found = brandSlug && metric in OF_BRAND ? OF_BRAND[metric] : OF_ORGANIZATION[metric];
  if (found === undefined) return undefined;
  const [list, statuses] = found;
  return { list, statuses, choices: statuses ?? (list === 'takedowns' ? TAKEDOWN_STATUSES : []) };
};

const ASSET = [
  ['Asset', ({ asset }) => asset.content],
  ['Type', ({ asset }) => asset.type],
  ['Status', ({ status }) => status],
];
const ID = ['Id', ({ id }) => id];
const instant = (iso) => iso.replace('T', ' ').replace(/(?:\.000)?Z$/, '');
const CREATED = ['Created (UTC)', ({ createdAt }) => instant(createdAt)];
const UPDATED = ['Changed (UTC)', ({ updatedAt }) => instant(updatedAt)];
const BRANDS = ['Brands', ({ brands }) => brands.join(', ')];

/** Names of columns, each with the cell of an item. */
export const COLUMNS = {
  reports: [ID, BRANDS, CREATED, UPDATED],
  threats: [...ASSET, CREATED, UPDATED, ID],
  takedowns: [...ASSET, ['Brand', ({ brand }) => brand], CREATED, UPDATED, ID],
  verdicts: [...ASSET, BRANDS, CREATED, ID],
};
