import { createAdmin } from 'holdfast'
import {
  addJobOptions,
  adminFilterOptions,
  adminOptions,
  adminQueryOptions,
  bulkActionOptions,
  bulkCancelOptions,
  byOptions,
  redriveFilterOptions,
  redriveOptions,
  replayOptions,
  scheduleFilterOptions,
} from '../../../src/admin/options.ts'
import { operatorCancelOptions } from '../../../src/engine/operate/cancel.ts'
import { limitsOptions } from '../../../src/engine/limits/limits-options.ts'
import { calls, type HostileCall, optionCalls, over } from '../call.ts'
import { equalPayload, readJob } from '../read-back.ts'

const mail = { face: 'queue', name: 'hostile' } as const
const job = { ...mail, id: 'x' } as const
const schedule = { face: 'queue', owner: 'hostile', name: 'x' } as const
const absent = ['SCHEDULE_NOT_FOUND', 'JOB_NOT_FOUND'] as const

/** Every call that names a job. */
const ofJob: Readonly<Record<string, (rig: Parameters<HostileCall['run']>[0], job: any) => unknown>> = {
  'admin.jobs.get': ({ admin }, given) => admin.jobs.get(given),
  'admin.jobs.retry': ({ admin }, given) => admin.jobs.retry(given),
  'admin.jobs.retry: one of': ({ admin }, given) => admin.jobs.retry([given]),
  'admin.jobs.cancel': ({ admin }, given) => admin.jobs.cancel(given),
  'admin.jobs.remove': ({ admin }, given) => admin.jobs.remove(given),
  'admin.jobs.reschedule': ({ admin }, given) => admin.jobs.reschedule(given, { delayMs: 1 }),
  'admin.jobs.runNow': ({ admin }, given) => admin.jobs.runNow(given),
  'admin.jobs.replay': ({ admin }, given) => admin.jobs.replay(given),
  'admin.jobs.tree': ({ admin }, given) => admin.jobs.tree(given),
  'admin.explain': ({ admin }, given) => admin.explain(given),
}
const ofSchedule: typeof ofJob = {
  'admin.schedules.remove': ({ admin }, given) => admin.schedules.remove(given),
  'admin.schedules.pause': ({ admin }, given) => admin.schedules.pause(given),
  'admin.schedules.resume': ({ admin }, given) => admin.schedules.resume(given),
  'admin.schedules.fire': ({ admin }, given) => admin.schedules.fire(given),
  'admin.schedules.preview': ({ admin }, given) => admin.schedules.preview(given),
  'admin.schedules.put': ({ admin }, given) => admin.schedules.put(given, { everyMs: 60_000 }),
}
const inside = (table: typeof ofJob, base: object, field: string): typeof ofJob =>
  Object.fromEntries(
    Object.entries(table).map(([name, run]) => [name, (rig, value) => run(rig, { ...base, [field]: value })]),
  )

const ofType: typeof ofJob = {
  'admin.limits.get': ({ admin }, target) => admin.limits.get(target),
  'admin.limits.set': async ({ admin }, target) => {
    await admin.limits.set(target, { concurrency: 5 })
    await admin.limits.clear(target)
  },
  'admin.limits.clear': ({ admin }, target) => admin.limits.clear(target),
  'admin.pause': async ({ admin }, target) => {
    await admin.pause(target)
    await admin.resume(target)
  },
  'admin.history': ({ admin }, target) => admin.history('15m', target),
  'admin.jobs.add': ({ admin }, target) => admin.jobs.add(target),
}

export const adminCalls: readonly HostileCall[] = [
  ...calls('job', ofJob, { names: /jobs?/, absent }),
  ...['id', 'name', 'face'].flatMap((field) => calls(field, inside(ofJob, job, field), { absent })),
  ...calls('schedule', ofSchedule, { names: /schedule|face/, absent }),
  ...['owner', 'name', 'face'].flatMap((field) => calls(field, inside(ofSchedule, schedule, field), { absent })),
  ...calls('target', ofType, { names: /expected/ }),
  ...['name', 'face'].flatMap((field) => calls(field, inside(ofType, mail, field), { absent: ['INVALID_ARGUMENT'] })),
  ...calls('group', inside(ofType, mail, 'group'), { names: /group|expected/ }),
  ...optionCalls('admin.jobs.list', adminQueryOptions, ({ admin }, options) => admin.jobs.list(options)),
  ...optionCalls('admin.jobs.cancel', operatorCancelOptions, ({ admin }, options) => admin.jobs.cancel(job, options)),
  ...optionCalls('admin.jobs.add', addJobOptions, ({ admin }, options) => admin.jobs.add(mail, options), {
    readBack: async (rig, options, answer) => {
      await readJob(rig, 'queue.hostile', answer.id, options)
      if ('payload' in options) equalPayload((await rig.queue.get(answer.id))?.payload, options.payload)
      await rig.storage.clear()
    },
  }),
  ...optionCalls('admin.jobs.replay', replayOptions, ({ admin }, options) => admin.jobs.replay(job, options), {
    absent,
  }),
  ...optionCalls('admin.bulk.retry', adminFilterOptions, ({ admin }, filter) => admin.bulk.retry(filter).result, {
    where: /retry|options|jobs/,
  }),
  ...optionCalls('admin.bulk.remove', adminFilterOptions, ({ admin }, filter) => admin.bulk.remove(filter).result, {
    where: /remove|options|jobs/,
  }),
  ...optionCalls('admin.bulk.cancel', adminFilterOptions, ({ admin }, filter) => admin.bulk.cancel(filter).result, {
    where: /cancel|options|jobs/,
  }),
  ...optionCalls('admin.redrive', redriveFilterOptions, ({ admin }, filter) => admin.redrive(filter).result, {
    where: /redrive|options|jobs/,
  }),
  ...optionCalls('admin.bulk.retry: its second', bulkActionOptions, ({ admin }, options) =>
    admin.bulk.retry({}, options).stop(),
  ),
  ...optionCalls('admin.bulk.cancel: its second', bulkCancelOptions, ({ admin }, options) =>
    admin.bulk.cancel({}, options).stop(),
  ),
  ...optionCalls('admin.redrive: its second', redriveOptions, ({ admin }, options) =>
    admin.redrive({}, options).stop(),
  ),
  ...optionCalls(
    'admin.limits.set: patch',
    limitsOptions,
    async ({ admin }, patch) => {
      await admin.limits.set(mail, patch)
      await admin.limits.clear(mail)
    },
    { where: /limits|options/ },
  ),
  ...optionCalls('admin.pause', byOptions, async ({ admin }, options) => {
    await admin.pause(mail, options)
    await admin.resume(mail, options)
  }),
  ...optionCalls('admin.schedules.list', scheduleFilterOptions, ({ admin }, filter) => admin.schedules.list(filter)),
  ...calls('count', {
    'admin.schedules.previewRule': ({ admin }, count) => admin.schedules.previewRule({ everyMs: 1_000 }, count),
  }),
  ...calls('rule', { 'admin.schedules.previewRule': ({ admin }, rule) => admin.schedules.previewRule(rule) }),
  ...calls('range', { 'admin.history': ({ admin }, range) => admin.history(range) }),
  ...calls('by', { 'admin.as': ({ admin }, by) => void admin.as(by) }),
  ...optionCalls(
    'createAdmin',
    adminOptions,
    ({ watched }, options) => void createAdmin(over({ storage: watched }, options) as never),
    { leftOut: ['storage', 'clock'], where: /options|storage/ },
  ),
  ...calls('types', {
    'admin.events': async ({ admin }, types) => {
      const stream = admin.events({ types })
      await stream[Symbol.asyncIterator]().return?.()
    },
  }),
]
