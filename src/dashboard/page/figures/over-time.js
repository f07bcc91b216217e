import { intervalFor, queryOf } from '../range.js';
import { showTrends } from './totals.js';
import * as timeline from './timeline.js';
import * as types from './types.js';

const PATH = 'organization/metrics/timeline';

/**
 * Loads the timeline of the range. The charts over time and by type show the same timeline, so that their figures
 * agree.
 */
export const load = async (api, filters, signal) => {
  const query = queryOf(filters);
  const widthPx = timeline.width();
  let interval = 'year';
  if (query.startDate !== undefined) {
    const endDate = query.endDate === undefined ? new Date().toISOString() : `${query.endDate}T23:59:59.999Z`;
    interval = intervalFor({ ...query, endDate }, widthPx);
  } else {
    // The service decides how long "all time" is.
    const { body } = await api.get(PATH, { ...query, interval }, signal);
    if (body.points.length > 0) interval = intervalFor(body.window, widthPx);
  }
  const answer = await api.get(PATH, { ...query, interval }, signal);
  return { ...answer, csv: () => api.getCsv(PATH, { ...query, interval }) };
};

export const show = ({ body, csv }, filters) => {
  timeline.show(body, csv, filters);
  types.show(body, filters);
  showTrends(body);
};

export const section = [timeline.section, types.section];
export const nothing = { points: [] };
