// A progress bar in a web page: the page starts a job, and follows it by server-sent events. PORT=8080, on this machine only.

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { generateId, MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<number>({ storage: new MemoryStorage(), name: 'convert', concurrency: 10 })
queue.execute(async (job) => {
  for (let done = 1; done <= job.payload; done++) {
    await pause(100) // the work
    job.progress(done / job.payload)
  }
})
await queue.start()
const page = await readFile(new URL('progress-bar.html', import.meta.url))

/** Sends what is new of a job, until it has ended or the page is closed. Any process can do this: it only reads the storage. */
async function sendProgress(id: string, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  for (let sent = ''; !response.destroyed; await pause(250)) {
    const job = await queue.get(id)
    const hasEnded = job === null || job.finishedAt !== undefined
    const news = JSON.stringify({ state: job?.state ?? 'unknown', progress: job?.progress ?? 0, hasEnded })
    if (news !== sent) response.write(`data: ${news}\n\n`)
    if (hasEnded) break
    sent = news
  }
  response.end()
}

const server = createServer(async ({ method, url = '/' }, response) => {
  const [path = '/'] = url.split('?')
  try {
    if (method === 'POST' && path === '/jobs') {
      const id = generateId()
      await queue.enqueue(id, 20)
      response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ id }))
    } else if (path.startsWith('/jobs/')) await sendProgress(decodeURIComponent(path.slice('/jobs/'.length)), response)
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  } catch {
    response.destroy() // EventSource connects again
  }
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await queue.stop({ graceMs: 20_000 })
})
