// @holdfast/dashboard: see and steer the jobs of every face in a browser.

export { createDashboard, type Dashboard } from './server/dashboard.ts'
export { nodeListener } from './server/node-listener.ts'
export type { Authorization, Authorize, DashboardOptions } from './server/options.ts'
export type { PeerActions, PeerReport } from './server/peers.ts'
export { type Permission, permissions } from './shared/permissions.ts'
