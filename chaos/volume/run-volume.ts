// One run for volume: a number of jobs through killed and stopped processes, then the checks, in memory that grows by a few bytes a job.

import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeers } from '../../benchmarks/peers.ts'
import { buildPrograms, programsFolder, programsVariable } from '../../scripts/test-programs.ts'
import { sleep } from '../child.ts'
import { driverNamed } from '../drivers.ts'
import type { Entry } from '../entries.ts'
import { backoffMs } from '../jobs.ts'
import { readLogs } from '../log.ts'
import type { FaultKind } from '../plan.ts'
import { slotsOf, Supervisor } from '../supervisor.ts'
import { AckedJobs } from './acked-jobs.ts'
import { peerNamed } from './peers/index.ts'
import { loaderOf } from './peers/peer.ts'
import { peerSubject } from './peers/subject.ts'
import { storageSubject, type Subject } from './subject.ts'
import { volumeAttempts } from './volume-jobs.ts'
import { VolumeHistory } from './volume-history.ts'
import { readVolumeLog } from './volume-log.ts'

export interface VolumeOptions {
  readonly driver: string
  /** Another library on the server of the driver, instead of ours. */
  readonly peer?: string
  readonly jobs: number
  readonly seed: number
  readonly leaseMs: number
  readonly workers: number
  readonly producers: number
  readonly concurrency: number
  readonly kinds: readonly FaultKind[]
  readonly calm: number
  /** After these many minutes producers get no more time. */
  readonly minutes: number
}

export interface VolumeRun {
  readonly history: VolumeHistory
  /** Of the supervisor and the processes: faults, starts, errors. */
  readonly entries: readonly Entry[]
  /** The times at which a call of a process was answered. */
  readonly answers: readonly { readonly at: number; readonly by: string }[]
  /** From the first fault to the last completed job. */
  readonly seconds: number
  readonly problems: readonly string[]
}

/** Time limit for the last live jobs. */
const drainMs = 120_000
/** Where the peers are installed. */
const peersFolder = fileURLToPath(new URL('../../benchmarks', import.meta.url))

/** @param directory an empty directory for the storage and the logs */
export async function runVolume(
  options: VolumeOptions,
  directory: string,
  print: (line: string) => void,
): Promise<VolumeRun> {
  // A bundle starts with a third of the CPU, and killed processes are replaced all the time.
  await buildPrograms()
  process.env[programsVariable] = programsFolder
  const rig = { ...options, operators: 0, rate: 0 }
  const driver = driverNamed(options.driver)
  const service = await driver.serve?.(slotsOf(rig))
  const storage = options.peer === undefined ? await driver.open(directory, service?.url) : undefined
  const subject = storage ? storageSubject(storage) : openPeer(options, service!.url)
  const { jobs, producers, concurrency } = options
  const supervisor = new Supervisor({
    ...rig,
    directory,
    volume: {
      jobs,
      producers,
      concurrency,
      ...(options.peer !== undefined && { peer: { name: options.peer, folder: peersFolder } }),
    },
    workerScript: options.peer === undefined ? 'volume/worker.ts' : 'volume/peers/worker.ts',
    producerScript: options.peer === undefined ? 'volume/producer.ts' : 'volume/peers/producer.ts',
    ...(service && { service }),
    ...(storage && driver.endSession
      ? { endSession: () => driver.endSession!(storage) }
      : service?.disturb && { endSession: service.disturb }),
  })
  try {
    const problems: string[] = []
    await subject.connect()
    await supervisor.start()
    const startedAt = performance.now()
    const acked = new AckedJobs(join(directory, 'logs'))
    const over = new AbortController()
    const limitMs = options.minutes * 60_000
    await supervisor.runFaults(limitMs, untilAll(acked, options, supervisor, over.signal, print))
    over.abort()
    if (supervisor.isBroken) problems.push('processes ended by their own errors: see logs/*.stderr')
    if (acked.read() < jobs) problems.push(`${acked.read()} of ${jobs} jobs were acknowledged`)
    const patienceMs = supervisor.isBroken ? 0 : drainMs
    if (!(await supervisor.finish('producer', patienceMs))) problems.push('a producer did not end')
    if (!(await subject.drained(patienceMs))) problems.push(`jobs were still live after ${patienceMs / 1_000} s`)
    const seconds = (performance.now() - startedAt) / 1_000
    if (!(await supervisor.finish('worker', patienceMs))) problems.push('a worker did not end')
    await supervisor.end()
    print('reading the logs and the records')
    const history = new VolumeHistory(jobs)
    const answers = await readAll(history, join(directory, 'logs'))
    for await (const record of subject.records()) history.addRecord(record)
    await subject.disconnect()
    problems.push(...((await driver.inspect?.(directory)) ?? []))
    return { history, entries: readLogs(join(directory, 'logs')), answers, seconds, problems }
  } finally {
    await supervisor.end()
    await service?.stop(join(directory, 'server'))
  }
}

async function untilAll(
  acked: AckedJobs,
  { jobs }: VolumeOptions,
  { counts }: Supervisor,
  over: AbortSignal,
  print: (line: string) => void,
): Promise<void> {
  const startedAt = performance.now()
  for (let turn = 1; !over.aborted; turn++) {
    const found = acked.read()
    if (turn % 10 === 0) {
      const seconds = Math.round((performance.now() - startedAt) / 1_000)
      const { kills, stops, serverKills, proxyFaults } = counts
      print(
        `${seconds} s: jobs ${found} of ${jobs}, kills ${kills}, stops ${stops}, server kills ${serverKills}, proxy faults ${proxyFaults}`,
      )
    }
    if (found >= jobs) return
    await sleep(1_000)
  }
}

async function readAll(history: VolumeHistory, logs: string): Promise<VolumeRun['answers']> {
  const answers: { at: number; by: string }[] = []
  for (const file of globSync('*.volume', { cwd: logs })) {
    if (!existsSync(join(logs, file))) continue
    for await (const entry of readVolumeLog(join(logs, file))) {
      history.add(entry)
      if ('at' in entry) answers.push({ at: entry.at, by: entry.process })
    }
    history.endLog()
  }
  return answers.toSorted((one, other) => one.at - other.at)
}

function openPeer({ peer, leaseMs }: VolumeOptions, url: string): Subject {
  installPeers()
  const settings = { url, leaseMs, attempts: volumeAttempts, backoffMs, onError: () => {} }
  return peerSubject(peerNamed(peer!).open({ ...settings, load: loaderOf(peersFolder) }))
}
