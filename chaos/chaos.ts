// One run: faults, healing, draining, and the checks.

import { join } from 'node:path'
import { AckedTally } from './acked-tally.ts'
import { check } from './checks/index.ts'
import { countsOf, drained, pauseSchedule, recordsOf, sweptAll } from './drain.ts'
import { driverNamed } from './drivers.ts'
import type { Flags } from './flags.ts'
import { type FullDisk, fillDisk } from './full-disk.ts'
import { type History, historyOf, type Violation, violation } from './history.ts'
import { readLogs } from './log.ts'
import type { Service } from './service.ts'
import { slotsOf, Supervisor } from './supervisor.ts'
import { makeTable, readRows } from './user-rows.ts'

export interface Run {
  readonly history: History
  readonly violations: readonly Violation[]
  readonly full: FullDisk | undefined
}

export type Print = (line: string, isPassing?: boolean) => void

/** Time limit for the producers' last answers and for the live jobs. */
const drainMs = 60_000

/** @param directory an empty directory for the storage and the logs */
export async function runChaos(flags: Flags, directory: string, print: Print): Promise<Run> {
  const violations: Violation[] = []
  const isRig = flags.kinds.some((kind) => kind !== 'full')
  const history = isRig ? await runFaults(flags, directory, print, violations) : historyOf([], [], {})
  const full = flags.kinds.includes('full') ? await fillDisk(flags, directory) : undefined
  violations.push(...check(history), ...(full?.violations ?? []))
  return { history, violations, full }
}

async function runFaults(flags: Flags, directory: string, print: Print, violations: Violation[]): Promise<History> {
  const service = await driverNamed(flags.driver).serve?.(slotsOf(flags))
  try {
    return await runFaultsOn(service, flags, directory, print, violations)
  } finally {
    await service?.stop(join(directory, 'server'))
  }
}

async function runFaultsOn(
  service: Service | undefined,
  flags: Flags,
  directory: string,
  print: Print,
  violations: Violation[],
): Promise<History> {
  const driver = driverNamed(flags.driver)
  const storage = await driver.open(directory, service?.url)
  const endSession = driver.endSession ? () => driver.endSession!(storage) : service?.disturb
  const supervisor = new Supervisor({ ...flags, directory, service, endSession })
  const progress = showProgress(supervisor, flags, directory, print)
  try {
    // Before any other process, so that the schema exists.
    await storage.connect()
    if (driver.hasRows) await makeTable(storage)
    await supervisor.start()
    progress.begin()
    await supervisor.runFaults(flags.seconds * 1_000)
    progress.end()
    if (supervisor.isBroken) {
      print('run ended early: processes ended by their own errors')
    } else {
      print('healed; draining')
      if (!(await supervisor.finish('producer', drainMs))) violations.push(late('a producer did not end'))
      await pauseSchedule(storage)
      // The last redrives need the workers, and end the pauses.
      if (!(await supervisor.finish('operator', drainMs))) violations.push(late('an operator did not end'))
      if (!(await drained(storage, drainMs))) violations.push(late('jobs were still live'))
      if (!(await supervisor.finish('worker', drainMs))) violations.push(late('a worker did not end'))
      const left = await sweptAll(storage)
      if (left > 0) violations.push(violation('swept', `${left} expired records were not swept`))
    }
    await supervisor.end()
    const records = await recordsOf(storage)
    const counts = await countsOf(storage)
    const rows = driver.hasRows ? await readRows(storage) : undefined
    await storage.disconnect()
    for (const problem of (await driver.inspect?.(directory)) ?? []) {
      violations.push(violation('integrity', problem))
    }
    const { passesLocked, failsOver } = driver
    return historyOf(readLogs(join(directory, 'logs')), records, counts, { rows, passesLocked, failsOver })
  } finally {
    progress.end()
    await supervisor.end()
    // A run that could not start must end too: a connection would keep this process.
    await storage.disconnect().catch(() => {})
  }
}

const late = (what: string): Violation => violation('drain', `${what} within ${drainMs / 1_000} s of the last fault`)

function showProgress(supervisor: Supervisor, { seconds, driver, kinds }: Flags, directory: string, print: Print) {
  const acked = new AckedTally(join(directory, 'logs'))
  let timer: NodeJS.Timeout | undefined
  return {
    begin() {
      const startedAt = performance.now()
      const show = (): void => {
        const { kills, stops, points, serverKills, sessions, proxyFaults } = supervisor.counts
        const { serve } = driverNamed(driver)
        const ofServer = serve ? `, server kills ${serverKills}, proxy faults ${proxyFaults}` : ''
        const ofSessions = kinds.includes('session') ? `, sessions ended ${sessions}` : ''
        const passed = Math.round((performance.now() - startedAt) / 1_000)
        const faults = `kills ${kills}, stops ${stops}, points ${points}${ofServer}${ofSessions}`
        print(`${passed} s of ${seconds}: jobs ${acked.read()}, ${faults}`, true)
      }
      timer = setInterval(show, process.stdout.isTTY ? 1_000 : Math.max(2_000, seconds * 50))
    },
    end: () => clearInterval(timer),
  }
}
