// A child process of the tests: `process.ts <spec> <scene>`. It writes lines of JSON, and reads commands as lines.

import { createInterface } from 'node:readline'
import { StorageMessageQueue, type StorageMessageQueueOptions } from 'holdfast/tasks'
import { type Spec, storageMaker } from '../processes/spec.ts'
import { endWithParent } from '../processes/end-with-parent.ts'
import { say } from '../processes/say.ts'

endWithParent()

const [specText, scene, ...args] = process.argv.slice(2) as [string, string, ...string[]]
const storage = (await storageMaker(JSON.parse(specText) as Spec))()
const commands = createInterface(process.stdin)[Symbol.asyncIterator]()
const command = async (): Promise<string> => (await commands.next()).value as string

interface Message {
  readonly key: string
  readonly number: number
}

const scenes: Record<string, () => Promise<void>> = {
  /** Listens with these options and writes what began. The message decides: hang, die, or fail every so often. */
  async listen() {
    const { fails, retryMs, ...options } = JSON.parse(args[0]!) as StorageMessageQueueOptions & {
      readonly fails?: number
      readonly retryMs?: number
    }
    const queue = new StorageMessageQueue(storage, {
      ...options,
      ...(retryMs !== undefined && { retryPolicy: () => retryMs }),
    })
    let runs = 0
    void queue.listen(async (message: Message | string, delivery) => {
      say({ began: message, attempt: delivery?.attempt })
      if (message === 'hang') return new Promise<void>((resolve) => setTimeout(resolve, 600_000))
      if (message === 'die') process.kill(process.pid, 'SIGKILL')
      if (fails !== undefined && ++runs % fails === 0) {
        say({ failed: message })
        throw new Error('every so often')
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
      say({ done: message })
      return undefined
    })
    say('ready')
    await command()
    await queue.close()
  },

  /** Waits in a handler for a command, then completes: a late worker. */
  async late() {
    const queue = new StorageMessageQueue(storage, JSON.parse(args[0]!) as StorageMessageQueueOptions)
    const finish = Promise.withResolvers<void>()
    const stop = new AbortController()
    const ended = queue.listen(
      async (message) => {
        say({ began: message })
        await finish.promise
        say({ ended: message })
      },
      { signal: stop.signal },
    )
    say('ready')
    await command()
    finish.resolve()
    await command()
    stop.abort()
    await ended
    await queue.close()
  },

  /** Enqueues one key so many times concurrently, on a command. */
  async race() {
    const queue = new StorageMessageQueue(storage)
    await queue.getDepth()
    say('ready')
    await command()
    const receipts = await Promise.all(
      Array.from({ length: Number(args[0]) }, (_, number) => queue.enqueue(number, { deduplicationKey: 'k' })),
    )
    say(receipts.filter(({ status }) => status === 'enqueued').length)
    await queue.close()
  },

  /** Enqueues batches without end, and writes which were acknowledged. */
  async flood() {
    const queue = new StorageMessageQueue(storage)
    for (let batch = 0; ; batch++) {
      await queue.enqueueMany(Array.from({ length: 20 }, (_, number) => ({ key: `${batch}`, number })))
      say(batch)
    }
  },

  /** Enqueues what the commands say, as JSON: [message, options]. */
  async send() {
    const queue = new StorageMessageQueue(storage)
    say('ready')
    for (let line = await command(); line !== 'stop'; line = await command()) {
      const [message, options] = JSON.parse(line) as [unknown, object]
      await queue.enqueue(message, options)
      say('sent')
    }
    await queue.close()
  },
}

await scenes[scene]!()
await storage.disconnect()
process.exit(0)
