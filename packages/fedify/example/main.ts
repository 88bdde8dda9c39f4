// npm run example -w packages/fedify
//
// Two Fedify servers on this machine, A and B, each with a queue and a store in one SQLite file. A sends B a note and its
// deletion, and B refuses them at first. Then A's worker is killed while it delivers.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SqliteStorage } from 'holdfast/sqlite'
import { openSite, startServer } from './server.ts'

const say = (text: string): void => console.log(text)

export async function runExample(path: string): Promise<readonly string[]> {
  const storage = new SqliteStorage({ path })
  const a = await startServer(storage, 'a', { leaseMs: 1_000 })
  const b = await startServer(storage, 'b')
  const stop = new AbortController()
  const working = [b.federation.startQueue(undefined, { signal: stop.signal })]
  const arrives = async (count: number): Promise<void> => {
    while (b.received.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  say(`A is ${a.origin}, B is ${b.origin}. B answers 503 at first.`)
  let refused = 0
  b.filter = (_request, response) => {
    if (refused >= 2) return true
    response.writeHead(503).end()
    say(`  B refuses (${++refused})`)
    return false
  }
  await a.send(b, 'Create', 'create-1', 'note 1')
  await a.send(b, 'Delete', 'delete-1', 'note 1')
  say('A has enqueued a Create and, behind it under the same ordering key, a Delete.')
  // A federation starts its queue once, so each worker is a federation of its own.
  const first = openSite(storage, 'a')
  const over = new AbortController()
  const firstWorker = first.federation.startQueue(undefined, { signal: over.signal })
  await arrives(2)
  over.abort()
  await firstWorker
  await Promise.all([first.queue.close(), first.kv.close()])
  say(`B has received, in this order: ${b.received.join(', ')}`)

  say('\nNow A’s worker is a separate process, and B does not answer the next request.')
  const requested = Promise.withResolvers<void>()
  let isSilent = true
  b.filter = () => {
    requested.resolve()
    return !isSilent
  }
  await a.send(b, 'Create', 'create-2')
  const worker = spawn(
    process.execPath,
    ['--conditions=@holdfast/source', fileURLToPath(new URL('./worker.ts', import.meta.url)), path],
    { stdio: 'inherit' },
  )
  await requested.promise
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  isSilent = false
  say('The worker was killed during the delivery. Another one starts, and gets the message when the lease is over.')
  working.push(a.federation.startQueue(undefined, { signal: stop.signal }))
  await arrives(3)
  say(`B has received: ${b.received.join(', ')}`)

  stop.abort()
  await Promise.all(working)
  await Promise.all([a.close(), b.close()])
  return b.received
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-fedify-'))
  try {
    await runExample(join(directory, 'federation.db'))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
