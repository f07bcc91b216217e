import type { EventLog } from '../../event-log/event-log.js';
import { requireValid } from '../../event-log/require-valid.js';
import type { FeatureFlagChanged } from '../../events/types/brands.js';
import { appendOperatorChange } from './append-operator-change.js';

type Flag = Omit<FeatureFlagChanged['data'], 'updatedAt'>;

const flagEvent = (flag: Flag, updatedAt: number): FeatureFlagChanged =>
  requireValid({ type: 'FeatureFlagChanged', data: { ...flag, updatedAt } });

/**
 * Switches a feature on or off for an organization.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event
 */
export const changeFeatureFlag = (log: EventLog, flag: Flag): Promise<boolean> =>
  appendOperatorChange(log, flagEvent(flag, 0), (newest, now) =>
    (newest?.data.enabled ?? false) === flag.enabled ? undefined : flagEvent(flag, now),
  );
