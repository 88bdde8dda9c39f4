// The rows of the fault matrix: every fault, with the drivers that can have it.

export const matrixDrivers = ['memory', 'file', 'sqlite', 'postgres', 'redis', 'cluster'] as const
export type MatrixDriver = (typeof matrixDrivers)[number]

export interface Fault {
  readonly name: string
  readonly fault: string
  readonly drivers: readonly MatrixDriver[]
}

const persistent = ['file', 'sqlite', 'postgres', 'redis', 'cluster'] as const
const servers = ['postgres', 'redis', 'cluster'] as const

export const faults = {
  K1: { fault: 'kill -9 of a worker at claim and in its handler', drivers: persistent },
  K2: { fault: 'kill -9 of a worker before and after a settle', drivers: persistent },
  K3: { fault: 'kill -9 at extend, stop, recover, sweep, cancel, pause', drivers: persistent },
  K4: { fault: 'kill -9 of a producer at add', drivers: persistent },
  K5: { fault: 'kill -9 while a schedule fires', drivers: persistent },
  K6: { fault: 'the disk fails or the power is cut at each call', drivers: ['file'] },
  K7: { fault: 'kill -9 of any process at any instant', drivers: persistent },
  K8: { fault: 'a job that ends its process', drivers: persistent },
  P1: { fault: 'SIGSTOP of a worker beyond its lease', drivers: persistent },
  P2: { fault: 'event loop blocked beyond the lease', drivers: matrixDrivers },
  P3: { fault: 'SIGSTOP of the server', drivers: servers },
  P4: { fault: 'SIGSTOP of the process with the Reaper and a scheduler', drivers: persistent },
  D1: { fault: 'kill -9 or immediate stop of the server', drivers: servers },
  D2: { fault: 'the server comes back empty', drivers: ['postgres', 'redis'] },
  D3: { fault: 'power cut', drivers: ['file', 'sqlite', 'postgres', 'redis'] },
  D4: { fault: 'failover with a cut replication link', drivers: servers },
  D5: { fault: 'slots move under load', drivers: ['cluster'] },
  D6: { fault: 'sessions ended, scripts flushed, clients paused', drivers: servers },
  D7: { fault: 'memory full; eviction allowed', drivers: ['redis', 'cluster'] },
  N1: { fault: 'delay', drivers: servers },
  N2: { fault: 'half-open connection', drivers: servers },
  N3: { fault: 'reset, half-closed connection', drivers: servers },
  N4: { fault: 'request delivered, reply lost', drivers: servers },
  N5: { fault: 'one process cut off', drivers: servers },
  N6: { fault: 'hints dropped', drivers: servers },
  O1: { fault: 'disk full', drivers: persistent },
  O2: { fault: 'sync fails with EIO', drivers: ['file', 'sqlite'] },
  O3: { fault: 'no file descriptor left; directory not writable', drivers: ['file', 'sqlite'] },
  O4: { fault: 'large backlog, due at once', drivers: matrixDrivers },
  T1: { fault: 'clock of a worker or producer wrong by minutes or hours', drivers: persistent },
  T2: { fault: 'clock of the storage jumps', drivers: persistent },
  T3: { fault: 'delays beyond 2^31 ms, 2038, 9999', drivers: matrixDrivers },
  Q1: { fault: 'deadlock, serialization failure, lock timeout', drivers: ['postgres'] },
  Q2: { fault: 'pool or max_connections exhausted', drivers: ['postgres'] },
  Q3: { fault: 'snapshot held open over many dead rows', drivers: ['postgres'] },
  Q4: { fault: 'concurrent claims under limits', drivers: ['postgres'] },
  Q5: { fault: 'another process holds the write lock for 4 s', drivers: ['sqlite'] },
  X1: { fault: 'payload that cannot be decoded', drivers: persistent },
  X2: { fault: 'handler throws anything, never ends, settles twice', drivers: matrixDrivers },
  V1: { fault: 'an earlier version beside this one', drivers: persistent },
} as const satisfies Readonly<Record<string, Omit<Fault, 'name'>>>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as readonly FaultName[]
