// npm run bench:federation -- [--deliveries 2000] [--rounds 3] [--seconds 1] [--write]
//
// Measures the deliveries per second of one process: 2 KB encrypted, signed and sent to a server in another process, its
// acknowledgement decrypted and verified. Also measures the cryptography of one delivery, with node:crypto and with tweetnacl.
// --write puts the result into docs/federation/benchmarks.md.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeDisk, newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { measureCrypto } from './measure-crypto.ts'
import { type Deliveries, measureDeliveries } from './measure-deliveries.ts'

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
})
const [deliveries, rounds, seconds] = [Number(values.deliveries), Number(values.rounds), Number(values.seconds)]
const payloadBytes = 2_048
const target = { perSecond: 400, cryptoRatio: 8 }

const [load] = loadavg()
const directory = newWorkingDirectory()
const variants = [
  { name: 'memory, 4 at a time to the peer (the default)', perPeer: 4, onDisk: false },
  { name: 'memory, 32 at a time', perPeer: 32, onDisk: false },
  { name: 'SQLite, synced, 4 at a time to the peer (the default)', perPeer: 4, onDisk: true },
  { name: 'SQLite, synced, 32 at a time', perPeer: 32, onDisk: true },
] as const
const measured = new Map<string, Deliveries[]>(variants.map(({ name }) => [name, []]))
for (let round = 1; round <= rounds; round += 1) {
  for (const { name, perPeer, onDisk } of variants) {
    console.error(`round ${round}: ${name}`)
    const folder = onDisk ? join(directory, `${round}-${perPeer}`) : undefined
    if (folder !== undefined) mkdirSync(folder)
    const size = { deliveries, warmUp: Math.ceil(deliveries / 5), payloadBytes, perPeer, folder }
    measured.get(name)!.push(await measureDeliveries(size))
  }
}
console.error('cryptography')
const crypto = await measureCrypto(rounds, seconds)

const figure = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3))
const spread = (list: readonly number[]): string => {
  const { median, min, max } = spreadOf(list)
  return `${figure(median)} (${figure(min)} … ${figure(max)})`
}
const [[, mine], [, theirs]] = [...crypto] as [[string, number[]], [string, number[]]]
const ratio = spreadOf(theirs).median / spreadOf(mine).median
const bestOf = (rate: (one: Deliveries) => number): number =>
  Math.max(...[...measured.values()].map((list) => spreadOf(list.map(rate)).median))
const best = bestOf(({ perSecond }) => perSecond)
const bestOfCpu = bestOf(({ cpuUs, receiverCpuUs }) => 1e6 / Math.max(cpuUs, receiverCpuUs))
const verdict = (isMet: boolean): string => (isMet ? 'met' : 'missed')

const lines = [
  '| deliveries of 2 KB, sender and receiver in two processes | per second | CPU of the sender, per delivery (µs) | CPU of the receiver, per delivery (µs) | failed attempts |',
  '|---|--:|--:|--:|--:|',
  ...[...measured].map(
    ([name, list]) =>
      `| ${name} | ${spread(list.map(({ perSecond }) => perSecond))} | ${spread(list.map(({ cpuUs }) => cpuUs))} | ${spread(list.map(({ receiverCpuUs }) => receiverCpuUs))} | ${list.reduce((sum, { retried }) => sum + retried, 0)} |`,
  ),
  '',
  '| cryptography of one delivery: 2 KB encrypted and signed, its acknowledgement decrypted and verified | CPU (µs) |',
  '|---|--:|',
  ...[...crypto].map(([name, list]) => `| ${name} | ${spread(list)} |`),
  '',
  '| goal | measured | result |',
  '|---|--:|---|',
  `| at least ${target.perSecond} deliveries per second and process | ${figure(best)} | ${verdict(best >= target.perSecond)} |`,
  `| (bound by the CPU of the busier process) | ${figure(bestOfCpu)} | |`,
  `| cryptography at least ${target.cryptoRatio} times as fast as with tweetnacl | ${figure(ratio)} × | ${verdict(ratio >= target.cryptoRatio)} |`,
  '',
]
const { cores, cpu, node } = thisMachine()
const command = ['npm run bench:federation --', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(' ')
const head = [
  '# Federation benchmarks',
  '',
  'Deliveries per second between two processes, and the cost of their cryptography. To measure on your machine:',
  '',
  '```sh',
  'npm run bench:federation',
  '```',
  '',
  '<!-- Written by npm run bench:federation -- --write. -->',
  '',
  'Deliveries go from one process to another over loopback HTTP without TLS. Each one is encrypted, signed, sent, decrypted, verified,',
  'applied and acknowledged, and its acknowledgement decrypted and verified; both sides write rows. Memory: the jobs in `MemoryStorage`,',
  'the tables in SQLite without a file. tweetnacl: the same path and the same bytes on the wire, with its curves. On a busy machine, read',
  'the CPU columns and the ratio.',
  '',
  `${cores} cores, ${cpu}, Node ${node}; load average ${figure(load ?? 0)} at the start; disk: ${describeDisk()}; ${rounds} rounds of ${deliveries.toLocaleString('en')}, medians (min … max); \`${command}\`.`,
  '',
]
console.log(lines.join('\n'))
if (values.write) {
  const page = new URL('../../docs/federation/benchmarks.md', import.meta.url)
  const kept = readFileSync(page, 'utf8').split(/(?=^## Dead peers)/m)[1] ?? ''
  writeFileSync(page, `${[...head, ...lines].join('\n')}\n${kept}`)
}
removeDirectory(directory)
process.exit(best >= target.perSecond && ratio >= target.cryptoRatio ? 0 : 1)
