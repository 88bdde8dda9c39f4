// The options of tasks, of the storage's message queue and store, of their Fedify adapter and of drain(), as sections of the page.

import { cancelOptions } from '../../packages/holdfast/src/engine/operate/cancel.ts'
import {
  backoffOptions,
  extendedOptions,
  kvStoreOptions,
  runOptions,
  startOptions,
  stopOptions,
  storageQueueOptions,
  taskEnqueueManyOptions,
  taskOptions,
  tasksOptions,
} from '../../packages/holdfast/src/tasks/options.ts'
import { drainOptions } from '../../packages/holdfast/src/testing/options.ts'
import type { Section } from './sections.ts'

const tasks = 'holdfast/src/tasks'
const cancel = 'holdfast/src/engine/operate/cancel.ts'
const enqueueTypes = [
  `${tasks}/queue/message-queue.ts#MessageQueueEnqueueOptions`,
  `${tasks}/queue/message-queue.ts#DueOptions`,
  'holdfast/src/engine/job/job-options.ts#SharedJobOptions',
  `${tasks}/queue/message-queue.ts#GroupedOptions`,
]

export const taskSections: readonly Section[] = [
  {
    face: 'Tasks',
    title: '`createTasks(options)`',
    table: tasksOptions,
    types: [`${tasks}/tasks-options.ts#TasksOptions`],
  },
  {
    face: 'Tasks',
    title: '`tasks.defineTask(name, options)`',
    table: taskOptions,
    types: [`${tasks}/define.ts#TaskOptions`],
  },
  {
    face: 'Tasks',
    title: '`tasks.enqueueTask(task, data, options)`, `tasks.enqueueTaskMany(…)`',
    table: taskEnqueueManyOptions,
    types: [...enqueueTypes, `${tasks}/enqueue.ts#TaskEnqueueOptions`, `${tasks}/enqueue.ts#TaskEnqueueManyOptions`],
  },
  {
    face: 'Tasks',
    title: '`tasks.cancel(id, options)`, `messageQueue.cancel(id, options)`',
    table: cancelOptions,
    types: [`${cancel}#CancelOptions`, `${cancel}#OperatorCancelOptions`],
  },
  {
    face: 'Tasks',
    title: '`tasks.run(options)`; `start` takes the signal, `stop` the grace',
    table: { ...startOptions, ...stopOptions, ...runOptions },
    types: ['holdfast/src/engine/lifecycle.ts#RunOptions', 'holdfast/src/engine/lifecycle.ts#StopOptions'],
  },
  {
    face: 'Tasks',
    title: '`new StorageMessageQueue(storage, options)`',
    table: storageQueueOptions,
    types: [`${tasks}/queue/storage-queue-options.ts#StorageMessageQueueOptions`],
  },
  {
    face: 'Tasks',
    title: '`queue.enqueue(message, options)`, `queue.enqueueMany(…)`',
    table: extendedOptions,
    types: [...enqueueTypes, `${tasks}/queue/message-queue.ts#ExtendedEnqueueOptions`],
  },
  {
    face: 'Tasks',
    title: '`new HoldfastMessageQueue(storage, options)` of @holdfast/fedify, besides those of `StorageMessageQueue`',
    table: {
      deduplicationScope: { default: 'task', check: () => {} },
      retryPolicy: { check: () => {} },
      temporal: { check: () => {} },
    },
    types: ['fedify/src/message-queue.ts#HoldfastMessageQueueOptions'],
  },
  {
    face: 'Tasks',
    title: '`new StorageKvStore(storage, options)`, `new HoldfastKvStore(storage, options)`',
    table: kvStoreOptions,
    types: [`${tasks}/kv/storage-kv-store.ts#StorageKvStoreOptions`],
  },
  {
    face: 'Tasks',
    title: '`exponentialBackoff(options)`',
    table: backoffOptions,
    types: [`${tasks}/retry.ts#ExponentialBackoffOptions`],
  },
  {
    face: 'Testing',
    title: '`drain(worker, options)`',
    table: drainOptions,
    types: ['holdfast/src/testing/drain.ts#DrainOptions'],
  },
]
