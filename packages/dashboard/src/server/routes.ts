// Every route below `api/`, with the permission that it asks for. Besides these there are the stream of a page (`api/stream`), which
// repeats views, the page itself and its assets: all three ask for `view`.

import type { View, Write } from './route.ts'
import { audit } from './views/audit.ts'
import { findings } from './views/findings.ts'
import { histogram } from './views/histogram.ts'
import { history } from './views/history.ts'
import { job } from './views/job.ts'
import { jobs } from './views/jobs.ts'
import { limits } from './views/limits.ts'
import { overview, summary } from './views/overview.ts'
import { peers } from './views/peers.ts'
import { schedulePreview, schedules } from './views/schedules.ts'
import { session } from './views/session.ts'
import { tree } from './views/tree.ts'
import { types } from './views/types.ts'
import { workers } from './views/workers.ts'
import { addJob } from './writes/add.ts'
import { bulkPreview, bulkProgress, startBulk, stopBulk } from './writes/bulk.ts'
import { cancelJobs, removeJobs, rescheduleJobs, retryJobs, runJobsNow } from './writes/jobs.ts'
import { changePeer } from './writes/peers.ts'
import { replayJob } from './writes/replay.ts'
import { fireSchedule, pauseSchedule, putSchedule } from './writes/schedules.ts'
import { clearLimits, pauseType, setLimits } from './writes/types.ts'

export const views: readonly View[] = [
  { method: 'GET', path: 'session', permission: 'view', run: session },
  { method: 'GET', path: 'summary', permission: 'view', run: summary },
  { method: 'GET', path: 'overview', permission: 'view', run: overview },
  { method: 'GET', path: 'types', permission: 'view', run: types },
  { method: 'GET', path: 'jobs', permission: 'view', run: jobs },
  { method: 'GET', path: 'histogram', permission: 'view', run: histogram },
  { method: 'GET', path: 'job', permission: 'view', run: job },
  { method: 'GET', path: 'tree', permission: 'view', run: tree },
  { method: 'GET', path: 'history', permission: 'view', run: history },
  { method: 'GET', path: 'findings', permission: 'view', run: findings },
  { method: 'GET', path: 'audit', permission: 'view', run: audit },
  { method: 'GET', path: 'schedules', permission: 'view', run: schedules },
  { method: 'GET', path: 'schedules/preview', permission: 'view', run: schedulePreview },
  { method: 'GET', path: 'workers', permission: 'view', run: workers },
  { method: 'GET', path: 'limits', permission: 'view', run: limits },
  { method: 'GET', path: 'peers', permission: 'view', run: peers },
  { method: 'GET', path: 'bulk', permission: 'view', run: bulkProgress },
  { method: 'GET', path: 'bulk/preview', permission: 'view', run: bulkPreview },
]

export const writes: readonly Write[] = [
  { method: 'POST', path: 'jobs/retry', permission: 'revive', run: retryJobs },
  { method: 'POST', path: 'jobs/run-now', permission: 'revive', run: runJobsNow },
  { method: 'POST', path: 'jobs/reschedule', permission: 'revive', run: rescheduleJobs },
  { method: 'POST', path: 'jobs/cancel', permission: 'cancel', run: cancelJobs },
  { method: 'POST', path: 'jobs/remove', permission: 'remove', run: removeJobs },
  { method: 'POST', path: 'jobs/add', permission: 'edit', run: addJob },
  { method: 'POST', path: 'jobs/replay', permission: 'edit', run: replayJob },
  { method: 'POST', path: 'bulk/retry', permission: 'revive', run: startBulk('retry') },
  { method: 'POST', path: 'bulk/cancel', permission: 'cancel', run: startBulk('cancel') },
  { method: 'POST', path: 'bulk/remove', permission: 'remove', run: startBulk('remove') },
  { method: 'POST', path: 'bulk/stop', permission: 'view', run: stopBulk },
  { method: 'POST', path: 'types/pause', permission: 'pause', run: pauseType(true) },
  { method: 'POST', path: 'types/resume', permission: 'pause', run: pauseType(false) },
  { method: 'POST', path: 'limits/set', permission: 'limits', run: setLimits },
  { method: 'POST', path: 'limits/clear', permission: 'limits', run: clearLimits },
  { method: 'POST', path: 'schedules/pause', permission: 'schedules', run: pauseSchedule(true) },
  { method: 'POST', path: 'schedules/resume', permission: 'schedules', run: pauseSchedule(false) },
  { method: 'POST', path: 'schedules/fire', permission: 'schedules', run: fireSchedule },
  { method: 'POST', path: 'schedules/put', permission: 'schedules', run: putSchedule },
  { method: 'POST', path: 'peers/pause', permission: 'peers', run: changePeer('pause') },
  { method: 'POST', path: 'peers/resume', permission: 'peers', run: changePeer('resume') },
  { method: 'POST', path: 'peers/contact', permission: 'peers', run: changePeer('contact') },
  { method: 'POST', path: 'peers/block', permission: 'peers', run: changePeer('block') },
  { method: 'POST', path: 'peers/unblock', permission: 'peers', run: changePeer('unblock') },
]
