import { day } from '../words.js';

const place = document.getElementById('organization');

export const load = (api, _filters, signal) => api.get('organization', {}, signal);

export const show = ({ body: { slug, key } }) => {
  place.textContent = slug;
  place.title = key.expiresAt === undefined ? '' : `The key expires on ${day(key.expiresAt)}`;
};

export const clear = () => {
  place.textContent = '';
};
