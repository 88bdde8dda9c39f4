import assert from 'node:assert/strict'
import { createTasks, StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import { cancelOptions } from '../../../src/engine/operate/cancel.ts'
import {
  extendedOptions,
  kvStoreOptions,
  storageQueueOptions,
  taskEnqueueManyOptions,
  taskEnqueueOptions,
  tasksOptions,
} from '../../../src/tasks/options.ts'
import { calls, type HostileCall, optionCalls, over } from '../call.ts'
import { equalPayload, readJob } from '../read-back.ts'

const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

export const taskCalls: readonly HostileCall[] = [
  ...calls(
    'data',
    {
      'tasks.enqueueTask': ({ tasks, task }, data) => tasks.enqueueTask(task, data),
    },
    {
      names: /data|payload|message/,
      readBack: async ({ tasks }, given, { id }) => equalPayload((await tasks.get(id))?.data, given),
    },
  ),
  ...calls(
    'payloads',
    {
      'tasks.enqueueTaskMany': ({ tasks, task }, payloads) => tasks.enqueueTaskMany(task, payloads),
      'tasks.enqueueTaskMany: one of': ({ tasks, task }, data) => tasks.enqueueTaskMany(task, [data]),
    },
    { names: /payload|data/ },
  ),
  ...calls(
    'task',
    {
      'tasks.enqueueTask': ({ tasks }, task) => tasks.enqueueTask(task, 1),
      'tasks.enqueueTaskMany': ({ tasks }, task) => tasks.enqueueTaskMany(task, [1]),
    },
    { names: /task/ },
  ),
  ...optionCalls(
    'tasks.enqueueTask',
    taskEnqueueOptions,
    ({ tasks, task }, options) => tasks.enqueueTask(task, 1, options),
    {
      where: /options|expected/,
      readBack: async (rig, options, { id }) => readJob(rig, 'task.hostile', id, options),
    },
  ),
  ...optionCalls(
    'tasks.enqueueTaskMany',
    taskEnqueueManyOptions,
    ({ tasks, task }, options) => tasks.enqueueTaskMany(task, [1, 2], options),
    { where: /options|expected/ },
  ),
  ...calls(
    'id',
    {
      'tasks.get': ({ tasks }, id) => tasks.get(id),
      'tasks.cancel': ({ tasks }, id) => tasks.cancel(id),
      'tasks.revive: one of the ids': ({ tasks }, id) => tasks.revive([id]),
      'messages.get': ({ messages }, id) => messages.get(id),
      'messages.cancel': ({ messages }, id) => messages.cancel(id),
      'messages.revive: one of the ids': ({ messages }, id) => messages.revive([id]),
    },
    { names: /ids?/ },
  ),
  ...calls('ids', {
    'tasks.revive': ({ tasks }, ids) => tasks.revive(ids),
    'messages.revive': ({ messages }, ids) => messages.revive(ids),
  }),
  ...optionCalls('tasks.cancel', cancelOptions, ({ tasks, id }, options) => tasks.cancel(id(), options)),
  ...calls(
    'name',
    {
      'tasks.defineTask': ({ tasks }, name) => void tasks.defineTask(name, { schema, handler: async () => {} }),
    },
    { names: /name|task/, absent: ['TASK_ALREADY_DEFINED'] },
  ),
  ...calls(
    'options',
    { 'tasks.defineTask: options': ({ tasks, id }, options) => void tasks.defineTask(id(), options) },
    { names: /options|schema|handler|task/ },
  ),
  ...optionCalls(
    'createTasks',
    tasksOptions,
    ({ watched }, options) => void createTasks(over({ storage: watched }, options) as never),
    {
      where: /options|storage|queue/,
      leftOut: ['storage', 'clock', 'queue', 'kvPrefixes'],
    },
  ),
  ...calls(
    'kvPrefixes',
    {
      createTasks: ({ watched }, kvPrefixes) => void createTasks({ storage: watched, kvPrefixes }),
      'createTasks: one of': ({ watched }, taskDeduplication) =>
        void createTasks({ storage: watched, kvPrefixes: { taskDeduplication } }),
    },
    { names: /kvPrefixes|taskDeduplication/ },
  ),
  ...calls(
    'message',
    { 'messages.enqueue': ({ messages }, message) => messages.enqueue(message) },
    {
      names: /message|payload/,
      readBack: async ({ messages }, given, { ids }) => equalPayload((await messages.get(ids[0]))?.message, given),
    },
  ),
  ...calls(
    'messages',
    {
      'messages.enqueueMany': ({ messages }, all) => messages.enqueueMany(all),
      'messages.enqueueMany: one of': ({ messages }, message) => messages.enqueueMany([message]),
    },
    { names: /messages?|payload/ },
  ),
  ...optionCalls('messages.enqueue', extendedOptions, ({ messages }, options) => messages.enqueue(1, options), {
    where: /options|expected/,
  }),
  ...optionCalls(
    'new StorageMessageQueue',
    storageQueueOptions,
    ({ watched }, options) => void new StorageMessageQueue(watched, options),
    { leftOut: ['clock'] },
  ),
  ...calls('storage', {
    'new StorageMessageQueue': (_, storage) => void new StorageMessageQueue(storage),
    'new StorageKvStore': (_, storage) => void new StorageKvStore(storage),
  }),
  ...optionCalls(
    'new StorageKvStore',
    kvStoreOptions,
    ({ watched }, options) => void new StorageKvStore(watched, options),
    { leftOut: ['clock'] },
  ),
  ...calls(
    'schedule',
    {
      'tasks.schedules.remove': ({ tasks }, name) => tasks.schedules.remove(name),
      'tasks.schedules.pause': ({ tasks }, name) => tasks.schedules.pause(name),
      'tasks.schedules.fire': ({ tasks }, name) => tasks.schedules.fire(name),
    },
    { absent: ['SCHEDULE_NOT_FOUND'] },
  ),
]

export const kvStoreCalls: readonly HostileCall[] = [
  ...calls('key', {
    'kv.get': ({ kv }, key) => kv.get(key),
    'kv.get: a part of the': ({ kv }, part) => kv.get(['a', part]),
    'kv.set: a part of the': async ({ kv }, part) => {
      await kv.set([part, 'b'], 'value')
      assert.equal(await kv.get([part, 'b']), 'value')
      const listed: unknown[] = []
      for await (const entry of kv.list([part])) listed.push(entry.key)
      assert.deepEqual(listed, [[part, 'b']])
      await kv.delete([part, 'b'])
      assert.equal(await kv.get([part, 'b']), undefined)
    },
    'kv.delete': ({ kv }, key) => kv.delete(key),
    'kv.setIfAbsent': ({ kv }, key) => kv.setIfAbsent(key, 1),
    'kv.cas': ({ kv }, key) => kv.cas(key, undefined, 1),
    'kv.list': async ({ kv }, key) => {
      for await (const _ of kv.list(key)) void _
    },
  }),
  ...calls(
    'value',
    {
      'kv.set': async ({ kv, id }, value) => {
        const key = [id()] as const
        await kv.set(key, value)
        return key
      },
      'kv.setIfAbsent': async ({ kv, id }, value) => {
        const key = [id()] as const
        await kv.setIfAbsent(key, value)
        return key
      },
      'kv.cas': async ({ kv, id }, value) => {
        const key = [id()] as const
        await kv.cas(key, undefined, value)
        return key
      },
    },
    { readBack: async ({ kv }, given, key) => equalPayload(await kv.get(key), given) },
  ),
  ...calls('value', { 'kv.cas: the expected': ({ kv }, value) => kv.cas(['w'], value, 1) }),
  ...calls('ttl', { 'kv.set': ({ kv }, ttl) => kv.set(['t'], 1, { ttl }) }),
  ...calls(
    'write',
    { 'kv.set: options': ({ kv }, options) => kv.set(['t'], 1, options) },
    { names: /write options|ttl/ },
  ),
]
