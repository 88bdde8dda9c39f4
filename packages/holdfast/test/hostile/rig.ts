// What the calls are made on: every face over one storage, whose writes are counted.

import type { TestContext } from 'node:test'
import { type Admin, createAdmin, Queue, type Storage } from 'holdfast'
import { type Client, createClient, defineJobTypes } from 'holdfast/chains'
import { createTasks, StorageKvStore, StorageMessageQueue, type TaskDefinition, type Tasks } from 'holdfast/tasks'
import type { Subject } from '../../../conformance/src/index.ts'

const types = defineJobTypes<{
  step: {
    entry: true
    input: unknown
    output: unknown
    continueWith: { typeName: 'step' }
    blockers: { typeName: 'step' }[]
  }
}>()

export interface Rig {
  /** The driver itself, as its own users call it. */
  readonly storage: Storage
  /** The same driver, as the faces of this rig have it: its writes are in `writes`. */
  readonly watched: Storage
  readonly writes: string[]
  readonly queue: Queue<unknown, unknown>
  readonly client: Client<any, any>
  readonly tasks: Tasks
  readonly task: TaskDefinition<unknown, unknown>
  readonly messages: StorageMessageQueue
  readonly kv: StorageKvStore
  readonly admin: Admin
  /** A new id. */
  id(): string
}

const writeVerbs: ReadonlySet<string> = new Set(
  'clear add claim extend settle recover cancel revive remove pause sweep set setIfAbsent cas delete'.split(' '),
)

/** Counts the calls that write, before they are made. */
function watch<T extends object>(target: T, writes: string[]): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key)
      if (key === 'kv') return watch(value as object, writes)
      if (typeof value !== 'function') return value
      const isWrite = writeVerbs.has(key as string)
      return (...args: unknown[]): unknown => {
        if (isWrite) writes.push(key as string)
        return Reflect.apply(value as (...args: unknown[]) => unknown, target, args)
      }
    },
  })
}

const anySchema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

export async function openRig(t: TestContext, create: () => Subject | Promise<Subject>): Promise<Rig> {
  const { storage, close } = await create()
  await storage.connect()
  const writes: string[] = []
  const watched = watch(storage, writes)
  const queue = new Queue<unknown, unknown>({ storage: watched, name: 'hostile' })
  const client = await createClient({ storage: watched, jobTypeRegistry: types })
  const messages = new StorageMessageQueue(watched, { name: 'hostile' })
  const tasks = createTasks({ queue: messages, storage: watched })
  const task = tasks.defineTask('hostile', { schema: anySchema, handler: async () => {} }) as TaskDefinition<any, any>
  const kv = new StorageKvStore(watched, { name: 'hostile' })
  const admin = createAdmin({ storage: watched })
  let made = 0
  t.after(async () => {
    await queue.stop()
    await client.close()
    await tasks[Symbol.asyncDispose]()
    await messages.close()
    await kv.close()
    await admin.close()
    await storage.disconnect()
    await close?.()
  })
  return { storage, watched, writes, queue, client, tasks, task, messages, kv, admin, id: () => `made-${++made}` }
}
