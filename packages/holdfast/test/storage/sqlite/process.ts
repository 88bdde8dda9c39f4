// Another process of the SQLite tests: `process.ts <scene> <path> …`. It prints lines of JSON.

import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { newJob } from './bench.ts'
import { endWithParent } from '../../processes/end-with-parent.ts'
import { say } from '../../processes/say.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'

endWithParent()

const [scene, path, ...args] = process.argv.slice(2) as [string, string, ...string[]]
const commands = createInterface(process.stdin)[Symbol.asyncIterator]()
const nextCommand = async (): Promise<string> => (await commands.next()).value as string

const scenes: Record<string, () => Promise<void>> = {
  /** Adds the ids 0 … n-1 at once, each with a call of its own. */
  async race() {
    const storage = new SqliteStorage({ path, callTimeoutMs: 20_000 })
    await storage.connect()
    say('ready')
    await nextCommand()
    const ids = Array.from({ length: Number(args[0]) }, (_, number) => `${number}`)
    const settled = await Promise.allSettled(
      ids.map((id) => storage.add([newJob(id, { token: `${process.pid} ${id}` })])),
    )
    say(settled.map((one) => (one.status === 'fulfilled' ? one.value[0]!.verdict : String(one.reason))))
    await storage.disconnect()
  },

  /** Only opens the storage. */
  async open() {
    say('ready')
    await nextCommand()
    const storage = new SqliteStorage({ path })
    await storage.connect()
    const verdicts = await storage.add([newJob(`${process.pid}`)])
    await storage.disconnect()
    say(verdicts[0]!.verdict)
  },

  /** Enqueues each id that it reads. */
  async produce() {
    const queue = new Queue<string>({ storage: new SqliteStorage({ path }) })
    say('ready')
    for (let line = await nextCommand(); line !== 'stop'; line = await nextCommand()) {
      const [verb, id] = line.split(' ') as [string, string]
      if (verb === 'cancel') await queue.cancel(id, { abort: true })
      else await queue.enqueue(id, 'payload')
      say(id)
    }
    await queue.stop()
  },

  /** Runs a worker with a fallback poll of 30 s. */
  async work() {
    const queue = new Queue<string, string>({ storage: new SqliteStorage({ path }), blockTimeout: 30 })
    queue.execute(async ({ id, signal }) => {
      say({ started: id })
      if (id.startsWith('long')) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        say({ aborted: id })
        throw signal.reason
      }
      return id
    })
    await queue.start()
    say('ready')
    await nextCommand()
    await queue.stop({ timeout: 0 })
  },

  /** Listens, and prints nothing more. */
  async listen() {
    const storage = new SqliteStorage({ path })
    await storage.connect()
    await storage.listen([{ kind: 'wake', type: defaultType }], () => {})
    say('ready')
    await nextCommand()
  },

  /** Holds the write lock for a time. */
  async lock() {
    const db = new DatabaseSync(path, { timeout: 5_000 })
    db.exec('BEGIN IMMEDIATE')
    say('locked')
    await new Promise((resolve) => setTimeout(resolve, Number(args[0])))
    db.exec('COMMIT')
    db.close()
    say('free')
  },

  /** Adds jobs without end, and prints each acknowledged id. */
  async flood() {
    const storage = new SqliteStorage({ path })
    await storage.connect()
    for (let number = 0; ; number++) {
      const ids = Array.from({ length: 1 + (number % 5) }, (_, index) => `${process.pid}-${number}-${index}`)
      await Promise.all(ids.map((id) => storage.add([newJob(id, { payload: Buffer.alloc(2_000) })])))
      say(ids)
    }
  },
}

await scenes[scene]!()
process.exit(0)
