import { day } from '../words.js';

const heading = document.getElementById('organization');

export const load = (api, _filters, signal) => api.get('organization', {}, signal);

export const show = ({ body: { slug, key } }) => {
  heading.textContent = slug;
  heading.title = key.expiresAt === undefined ? '' : `The key expires on ${day(key.expiresAt)}`;
};

export const nothing = { slug: '', key: {} };
