// The fault matrix as data: for each cell, how it is run, or why it is not.

import { type FaultName, faultNames, faults, type MatrixDriver } from './faults.ts'
import { type RigFault, rigFaults } from './rig-faults.ts'
import type { ScenarioName } from './scenarios/index.ts'

type Way =
  /** A run of `npm run chaos`, which the cells of a driver share. */
  | { readonly by: 'rig'; readonly fault: RigFault }
  /** A program of its own. */
  | { readonly by: 'scenario'; readonly scenario: ScenarioName }
  /** Tests, by their files and a pattern of their names. `all`: at full size, which some drivers need to have them at all. */
  | { readonly by: 'tests'; readonly files: readonly string[]; readonly names: string; readonly all?: true }
  | { readonly by: 'nothing'; readonly reason: string }

export interface Cell {
  readonly fault: FaultName
  readonly driver: MatrixDriver
  readonly way: Way
}

const scenario = (name: ScenarioName): Way => ({ by: 'scenario', scenario: name })
const nothing = (reason: string): Way => ({ by: 'nothing', reason })
const tests = (files: readonly string[], names: string): Way => ({ by: 'tests', files, names })
/** Tests of the Queue, which every driver has. */
const queue = (driver: MatrixDriver, names: string): Way => ({
  by: 'tests',
  files: [`test/queue/${driver}.test.ts`],
  names,
  all: true,
})
const storage = (...names: readonly string[]): string[] => names.map((name) => `test/storage/${name}.test.ts`)

/** Of the faults that the rig does not make. */
const ways: Readonly<Record<Exclude<FaultName, RigFault>, (driver: MatrixDriver) => Way>> = {
  K6: () => tests(storage('file/faults'), 'at any call of the disk'),
  P2: (driver) =>
    driver === 'memory'
      ? tests(['test/engine/work/lease.test.ts'], 'event loop was blocked')
      : scenario('blocked-loop'),
  D2: () => scenario('empty-server'),
  D3: (driver) =>
    driver === 'postgres'
      ? nothing(
          'images of its data directory would test the recovery of Postgres; commits wait for its WAL (guarantees.md)',
        )
      : scenario('power-cut'),
  D4: () => scenario('failover'),
  D5: () => tests(storage('redis/cluster'), 'the slot moves'),
  D7: (driver) =>
    driver === 'redis'
      ? tests(storage('redis/connection', 'redis/durability'), 'when memory is full|may evict jobs|policy that changes')
      : nothing('each node refuses as a single server does (D7 of redis)'),
  N6: (driver) =>
    driver === 'cluster'
      ? nothing('the same subscriber and the same fallback poll as on one server (N6 of redis)')
      : tests(['test/queue/connection-faults.test.ts'], `${driver}.*\\[trap 29\\]`),
  O1: (driver) => {
    if (driver === 'cluster') return nothing('a node without a disk to write to is a dead node (D1 of cluster)')
    return scenario(driver === 'postgres' || driver === 'redis' ? 'full-server-disk' : 'full-disk')
  },
  O2: () => scenario('failed-sync'),
  O3: () => scenario('no-descriptors'),
  O4: () => scenario('backlog'),
  T1: (driver) => queue(driver, '\\[trap 31\\] a worker whose clock'),
  T2: (driver) => {
    if (driver === 'sqlite') return tests(storage('sqlite/clocks'), '\\[T2\\]')
    if (driver === 'file') return nothing('its clock is that of the machine, which a run must not change')
    if (driver === 'postgres') return scenario('server-clock')
    return nothing(
      'redis-server does not start under libfaketime: its allocator asks for the time before the library is ready',
    )
  },
  T3: () => scenario('far-future'),
  Q1: () =>
    tests(storage('postgres/errors', 'postgres/conflicts', 'postgres/clients'), 'deadlock|conflicts|waits for a lock'),
  Q2: () =>
    tests([...storage('postgres/lost-connections'), 'test/queue/postgres-pool.test.ts'], 'max_connections|pool of one'),
  Q3: () => scenario('held-snapshot'),
  Q4: () => tests(storage('postgres/concurrent-limits'), 'eight'),
  Q5: () => tests(storage('sqlite/locks'), '\\[Q5\\]'),
  X1: (driver) => queue(driver, '\\[Q4.32\\]'),
  X2: (driver) => queue(driver, '\\[Q4.30\\] a handler that|\\[Q4.31\\]|\\[trap 2\\]'),
  V1: () => scenario('earlier-version'),
}

export const cells: readonly Cell[] = faultNames.flatMap((fault) =>
  faults[fault].drivers.map((driver): Cell => ({ fault, driver, way: wayOf(fault, driver) })),
)

function wayOf(fault: FaultName, driver: MatrixDriver): Way {
  return fault in rigFaults
    ? { by: 'rig', fault: fault as RigFault }
    : ways[fault as Exclude<FaultName, RigFault>](driver)
}
