// What a person may do. The server checks it for every request; the app only hides what would be refused.

export const permissions = [
  'view',
  'viewPayload',
  'revive',
  'cancel',
  'remove',
  'edit',
  'pause',
  'limits',
  'schedules',
  'peers',
] as const

/**
 * - `view`: counts, lists, states, errors, search fields, workers, schedules and limits.
 * - `viewPayload`: payloads, results, progress and log lines.
 * - `revive`: retry, and run now. `cancel`, `remove`: these actions, on one job or many.
 * - `edit`: new jobs, and replays with the same or another payload.
 * - `pause`, `limits`, `schedules`: to change them. `peers`: to pause, contact or block other servers of a federation.
 */
export type Permission = (typeof permissions)[number]
