// Health checks over HTTP, for Kubernetes: /live says whether a restart would help, /ready whether jobs are run.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { healthHandler, MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string>({ storage: new MemoryStorage(), name: 'mail' })
queue.execute(() => {})

const health = healthHandler(queue)
const server = createServer(async (request, response) => {
  const { method = 'GET', url = '/' } = request
  const answer = await health(new Request(`http://localhost${url}`, { method }))
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

async function show(when: string): Promise<void> {
  for (const path of ['/live', '/ready']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    const { checks } = (await answer.json()) as { checks: { reasons: { code: string }[] }[] }
    const reasons = checks.flatMap((check) => check.reasons.map(({ code }) => code))
    console.log(`${when}: ${path} ${answer.status} ${reasons.join(', ')}`.trimEnd())
  }
}

await show('before the start')
await queue.start()
await show('running')
await queue.stop()
await show('after the stop')
server.close()
