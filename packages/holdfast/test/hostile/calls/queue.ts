import assert from 'node:assert/strict'
import { deduplicationByMode } from '../../../src/engine/job/deduplication.ts'
import { groupOptions } from '../../../src/engine/options.ts'
import { limitsOptions, rateOptions } from '../../../src/engine/limits/limits-options.ts'
import { cancelOptions } from '../../../src/engine/operate/cancel.ts'
import {
  drainOptions,
  enqueueOptions,
  listOptions,
  logOptions,
  pauseOptions,
  queueOptions,
  redriveFilterOptions,
  redriveOptions,
  scheduledJobOptions,
  setLimitsOptions,
  waitOptions,
} from '../../../src/queue/options.ts'
import { Queue } from 'holdfast'
import { calls, type HostileCall, optionCalls, over } from '../call.ts'
import { equalPayload, readJob } from '../read-back.ts'
import type { Rig } from '../rig.ts'

/** Only a text is a name. */
const nameOf = (value: unknown): string => (typeof value === 'string' ? value : 'name')

const every = { cron: undefined, everyMs: 60_000 }

/** Enqueues with these options, and compares what they say with the record. */
const enqueueWith =
  (options: (value: any) => object): HostileCall['run'] =>
  async ({ queue, id }, value) => {
    const made = id()
    await queue.enqueue(made, 1, options(value) as never)
    return made
  }

export const queueCalls: readonly HostileCall[] = [
  ...calls(
    'id',
    {
      'queue.enqueue': ({ queue }, id) => queue.enqueue(id, 'payload'),
      'queue.enqueueMany': ({ queue }, id) => queue.enqueueMany([{ id, payload: 'payload' }]),
    },
    {
      readBack: async ({ queue }, id) => {
        const job = await queue.get(id)
        assert.deepEqual([job?.id, job?.payload], [id, 'payload'])
        assert.equal((await queue.list({ order: 'desc', limit: 1 })).items.length, 1)
        assert.equal((await queue.cancel(id)).status, 'cancelled')
        assert.equal((await queue.remove(id)).status, 'removed')
        assert.equal(await queue.get(id), null)
      },
    },
  ),
  ...calls('id', {
    'queue.get': ({ queue }, id) => queue.get(id),
    'queue.logs': ({ queue }, id) => queue.logs(id),
    'queue.getResult': ({ queue }, id) => queue.getResult(id),
    'queue.getStatus': ({ queue }, id) => queue.getStatus(id),
    'queue.explain': ({ queue }, id) => queue.explain(id),
    'queue.cancel': ({ queue }, id) => queue.cancel(id),
    'queue.retry': ({ queue }, id) => queue.retry(id),
    'queue.remove': ({ queue }, id) => queue.remove(id),
    'queue.runNow': ({ queue }, id) => queue.runNow(id),
    'queue.reschedule': ({ queue }, id) => queue.reschedule(id, { delayMs: 1 }),
    'queue.updateResultTTL': ({ queue }, id) => queue.updateResultTTL(id, 1_000),
  }),
  ...calls(
    'payload',
    {
      'queue.enqueue': async ({ queue, id }, payload) => {
        const made = id()
        await queue.enqueue(made, payload)
        return made
      },
      'queue.enqueueMany': async ({ queue, id }, payload) => {
        const made = id()
        await queue.enqueueMany([{ id: made, payload }])
        return made
      },
    },
    { readBack: async ({ queue }, value, id) => equalPayload((await queue.get(id))?.payload, value) },
  ),
  ...optionCalls(
    'queue.enqueue',
    enqueueOptions,
    enqueueWith((options) => options),
    {
      where: /options/,
      readBack: (rig, options, id) => readJob(rig, 'queue.hostile', id, options),
    },
  ),
  ...Object.entries(deduplicationByMode).flatMap(([mode, table]) =>
    optionCalls(
      `queue.enqueue: deduplication of mode ${mode}`,
      table,
      ({ queue, id }, value) =>
        queue.enqueue(id(), 1, {
          deduplication: over(
            {
              mode,
              key: id(),
              ...(mode === 'debounce' && { windowMs: 1_000 }),
              ...(mode === 'ascending' && { version: 1 }),
            },
            value,
          ) as never,
        }),
      { where: /deduplication/, leftOut: ['mode'] },
    ),
  ),
  ...optionCalls(
    'queue.enqueue: group',
    groupOptions,
    async ({ queue, id }, value) => {
      const made = id()
      await queue.enqueue(made, 1, { group: over({ key: made, ordered: true }, value) as never })
      return made
    },
    {
      where: /group/,
      readBack: (rig, group, id) => readJob(rig, 'queue.hostile', id, { group: { key: id, ...group } }),
    },
  ),
  ...calls(
    'search',
    {
      'queue.enqueue: a value of search': enqueueWith((value) => ({ search: { field: value } })),
      'queue.enqueue: a name of search': enqueueWith((value) => ({ search: { [nameOf(value)]: 1 } })),
    },
    { names: /search/ },
  ),
  ...calls('ageMs', {
    'queue.enqueue: an age of retention': enqueueWith((value) => ({ retention: { failed: { ageMs: value } } })),
  }),
  ...optionCalls(
    'queue.enqueueAndWait',
    waitOptions,
    ({ queue, id }, options) => queue.enqueueAndWait(id(), 1, over({ timeout: 0 }, options) as never),
    { absent: ['TIMEOUT', 'JOB_NOT_FOUND', 'DUPLICATE_JOB'], where: /options/, leftOut: ['timeout'] },
  ),
  ...calls('items', { 'queue.enqueueMany': ({ queue }, items) => queue.enqueueMany(items) }),
  ...calls(
    'items',
    { 'queue.enqueueMany: one of': ({ queue }, item) => queue.enqueueMany([item]) },
    { names: /items?/ },
  ),
  ...optionCalls('queue.cancel', cancelOptions, ({ queue, id }, options) => queue.cancel(id(), options)),
  ...optionCalls('queue.logs', logOptions, ({ queue, id }, options) => queue.logs(id(), options)),
  ...optionCalls(
    'queue.reschedule',
    { delayMs: enqueueOptions.delayMs, runAt: enqueueOptions.runAt },
    ({ queue, id }, options) => queue.reschedule(id(), options),
  ),
  ...calls('ttlMs', { 'queue.updateResultTTL': ({ queue, id }, ttlMs) => queue.updateResultTTL(id(), ttlMs) }),
  ...optionCalls('queue.list', listOptions, ({ queue }, options) => queue.list(options)),
  ...calls(
    'where',
    {
      'queue.list: a value of where': ({ queue }, value) => queue.list({ where: { field: value } }),
      'queue.list: a bound of where': ({ queue }, value) => queue.list({ where: { field: { gte: value } } }),
      'queue.list: a name of where': ({ queue }, value) => queue.list({ where: { [nameOf(value)]: 1 } }),
    },
    { names: /where|search/ },
  ),
  ...optionCalls('queue.pause', pauseOptions, async ({ queue }, options) => {
    await queue.pause(options)
    await queue.resume(options)
  }),
  ...optionCalls('queue.setLimits', setLimitsOptions, async ({ queue }, options) =>
    queue.setLimits({ maxWaiting: 10_000 }, options),
  ),
  ...optionCalls('queue.setLimits: patch', limitsOptions, async ({ queue }, patch) => {
    await queue.setLimits(patch)
    const { inForce } = (await queue.limits()) as unknown as { inForce?: unknown }
    await queue.setLimits(null)
    return inForce
  }),
  ...optionCalls(
    'queue.setLimits: rate',
    rateOptions,
    async ({ queue }, rate) => {
      await queue.setLimits({ rate: over({ limit: 5, perMs: 1_000 }, rate) as never })
      await queue.setLimits(null)
    },
    { where: /rate/ },
  ),
  ...optionCalls('queue.redrive', redriveFilterOptions, ({ queue }, filter) => queue.redrive(filter).result),
  ...optionCalls('queue.redrive: its second', redriveOptions, ({ queue }, options) =>
    queue.redrive({}, options).stop(),
  ),
  ...optionCalls('queue.drainWaiting', drainOptions, ({ queue }, options) => queue.drainWaiting(options).stop()),
  ...calls(
    'schedule',
    {
      'queue.schedules.put': async ({ queue }, name) => {
        await queue.schedules.put(name, { ...every, payload: 1 })
        assert.deepEqual(
          (await queue.schedules.list()).map((item) => item.name),
          [name],
        )
        await queue.schedules.pause(name)
        await queue.schedules.resume(name)
        assert.equal(await queue.schedules.remove(name), true)
      },
      'queue.schedules.remove': ({ queue }, name) => queue.schedules.remove(name),
      'queue.schedules.pause': ({ queue }, name) => queue.schedules.pause(name),
      'queue.schedules.resume': ({ queue }, name) => queue.schedules.resume(name),
      'queue.schedules.fire': ({ queue }, name) => queue.schedules.fire(name),
      'queue.schedules.preview': ({ queue }, name) => queue.schedules.preview(name),
    },
    { absent: ['SCHEDULE_NOT_FOUND'] },
  ),
  ...optionCalls(
    'queue.schedules.put',
    scheduledJobOptions,
    async ({ queue }, options) => {
      await queue.schedules.put('one', over({ everyMs: 60_000, payload: 1 }, options) as never)
      await queue.schedules.list()
      await queue.schedules.remove('one')
    },
    { where: /schedule/ },
  ),
  ...optionCalls(
    'new Queue',
    queueOptions,
    ({ watched }, options) => void new Queue(over({ storage: watched }, options) as never),
    {
      where: /Queue options|storage/,
      leftOut: ['clock', 'storage', 'schedules'],
    },
  ),
  ...calls(
    'schedules',
    { 'new Queue': ({ watched }, schedules) => void new Queue({ storage: watched, schedules }) },
    { names: /schedule/ },
  ),
  ...calls('schedule', {
    'queue.schedules.put: all of': ({ queue }, schedule) => queue.schedules.put('one', schedule),
  }),
]

/** Config that is no object at all: `new Queue(5)`. */
export const constructorCalls: readonly HostileCall[] = calls(
  'Queue',
  { 'new Queue': (_: Rig, config) => void new Queue(config) },
  { names: /Queue|storage/ },
)
