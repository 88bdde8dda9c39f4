// npm run bench:recovery -- [--parked 9900] [--sends 300] [--peers 1000]
//
// Measures, with jobs and tables in one SQLite file: how soon a committed delivery is acknowledged, how fast what waited for a peer drains when
// it returns, what that costs another peer, and the event loop when many peers return at once. Exits with 0 if the 99th percentile of its delay
// is below 50 ms.

import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Federation } from '@holdfast/federation'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { percentile, startPeers } from './many-peers.ts'
import { measureHerd } from './measure-herd.ts'

const { values } = parseArgs({
  options: {
    parked: { type: 'string', default: '9900' },
    sends: { type: 'string', default: '300' },
    peers: { type: 'string', default: '1000' },
  },
})
const [parked, sends, peers] = [Number(values.parked), Number(values.sends), Number(values.peers)]
const mostDelayMs = 50
const [load] = loadavg()
const directory = newWorkingDirectory()
const folder = join(directory, 'recovery')
mkdirSync(folder)
const many = await startPeers({ peers: 2, folder })
const { federation } = many
const [back, other] = many.peers.map(({ origin }) => origin) as [string, string]
const waiting = new Map<string, () => void>()
const drained = { count: 0 }
federation.on('delivered', ({ id, origin }) => {
  if (origin === back) drained.count++
  waiting.get(id)?.()
})
await federation.start()

console.error(`${sends} deliveries, one after the other`)
await latencyOf(federation, other, 20)
const alone = await latencyOf(federation, other, sends)
console.error(`${parked} deliveries wait`)
await federation.peers.pause(back, { by: 'benchmark' })
for (let n = 0; n < parked; n++) await federation.send(activity(`p${n}`), [back])
console.error('the peer returns')
const startedAt = performance.now()
const cpu = process.cpuUsage()
await federation.peers.resume(back, { by: 'benchmark' })
const during: number[] = []
while (drained.count < parked) {
  during.push(...(await latencyOf(federation, other, 1)))
  await sleep(20)
}
const seconds = (performance.now() - startedAt) / 1_000
const { user, system } = process.cpuUsage(cpu)
await many[Symbol.asyncDispose]()
console.error(`${peers} peers return at once`)
const herdFolder = join(directory, 'herd')
mkdirSync(herdFolder)
const herd = await measureHerd({ peers, folder: herdFolder })
const isMet = herd.delayP99 < mostDelayMs
removeDirectory(directory)

const { cores, cpu: model, node } = thisMachine()
const rate = parked / seconds
const [before, meanwhile] = [percentile(alone, 0.99), percentile(during, 0.99)]
console.log(
  [
    `SQLite, synced; ${cores} cores, ${model}, Node ${node}, load average ${load?.toFixed(2)}`,
    `from commit to acknowledgement, alone: p50 ${percentile(alone, 0.5).toFixed(1)} ms, p99 ${before.toFixed(1)} ms`,
    `drain of ${parked}: ${rate.toFixed(0)} per second, ${((user + system) / parked).toFixed(0)} µs CPU each, at most 4 at a time`,
    `another peer meanwhile: p50 ${percentile(during, 0.5).toFixed(1)} ms, p99 ${meanwhile.toFixed(1)} ms, ${(meanwhile / before).toFixed(2)} times`,
    `${peers} peers return at once: all served after ${herd.seconds.toFixed(1)} s, ${herd.cpuUs.toFixed(0)} µs CPU each`,
    `event loop meanwhile: delay p99 ${herd.delayP99.toFixed(1)} ms (below ${mostDelayMs}: ${isMet ? 'met' : 'missed'}); CPU time of a pass p99 ${herd.passP99.toFixed(1)} ms, longest ${herd.longestPass.toFixed(1)} ms`,
  ].join('\n'),
)
process.exit(isMet ? 0 : 1)

function activity(id: string) {
  return { id, payload: { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 'x'.repeat(1_000) } }
}

/** Times from the commit of a delivery to its acknowledgement, in ms. */
async function latencyOf(from: Federation, to: string, count: number): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const id = crypto.randomUUID()
    const delivered = new Promise<void>((resolve) => waiting.set(`${id} ${to}`, resolve))
    await from.send(activity(id), [to])
    const committedAt = performance.now()
    await delivered
    times.push(performance.now() - committedAt)
    waiting.delete(`${id} ${to}`)
  }
  return times
}
