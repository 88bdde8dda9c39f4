// npm run bench:recovery -- [--parked 9900] [--window 3000] [--peers 1000]
//
// Measures, with jobs and tables in one SQLite file: how fast what waited for a peer drains when it returns, what that costs another peer, and
// the event loop when many peers return at once. Exits with 0 if the drain makes 300 per second, the 99th percentile of the other peer is at
// most 1.5 times that without a drain, and that of the delay of the event loop is below 50 ms. On a busy machine none of these says much.

import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { type Latency, measureDrain } from './measure-drain.ts'
import { measureHerd } from './measure-herd.ts'

const { values } = parseArgs({
  options: {
    parked: { type: 'string', default: '9900' },
    window: { type: 'string', default: '3000' },
    peers: { type: 'string', default: '1000' },
  },
})
const [parked, windowMs, peers] = [Number(values.parked), Number(values.window), Number(values.peers)]
const [leastPerSecond, mostTimes, mostDelayMs] = [300, 1.5, 50]
const [load] = loadavg()
const directory = newWorkingDirectory()

console.error(`${parked} deliveries wait for a peer, which returns every few seconds`)
const drain = await measureDrain({ folder: newFolder('drain'), parked, windowMs })
console.error(`${peers} peers return at once`)
const herd = await measureHerd({ peers, folder: newFolder('herd') })
removeDirectory(directory)

const { cores, cpu, node } = thisMachine()
const times = drain.during.p99 / drain.without.p99
const isMet = {
  rate: drain.perSecond >= leastPerSecond,
  times: times <= mostTimes,
  delay: herd.delayP99 < mostDelayMs,
}
console.log(
  [
    `SQLite, synced; ${cores} cores, ${cpu}, Node ${node}, load average ${load?.toFixed(2)}`,
    `drain of ${parked}: ${drain.perSecond.toFixed(0)} per second (at least ${leastPerSecond}: ${told(isMet.rate)}), ${drain.cpuUs.toFixed(0)} µs CPU each, at most 4 at a time`,
    `another peer, from commit to acknowledgement: without a drain ${textOf(drain.without)}; during it ${textOf(drain.during)}`,
    `p99 during / without: ${times.toFixed(2)} (at most ${mostTimes}: ${told(isMet.times)})`,
    `${peers} peers return at once: all served after ${herd.seconds.toFixed(1)} s, ${herd.cpuUs.toFixed(0)} µs CPU each`,
    `event loop meanwhile: delay p99 ${herd.delayP99.toFixed(1)} ms (below ${mostDelayMs}: ${told(isMet.delay)}); CPU time of a pass p99 ${herd.passP99.toFixed(1)} ms, longest ${herd.longestPass.toFixed(1)} ms`,
  ].join('\n'),
)
process.exit(isMet.rate && isMet.times && isMet.delay ? 0 : 1)

function newFolder(name: string): string {
  const folder = join(directory, name)
  mkdirSync(folder)
  return folder
}

function textOf({ p50, p99, count }: Latency): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${count}`
}

function told(met: boolean): string {
  return met ? 'met' : 'missed'
}
