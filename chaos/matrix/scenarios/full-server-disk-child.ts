// A server whose data is on a small file system that another file fills up. Adds are refused, with a StorageError; once there is room, and
// the server was restarted if it had ended, everything goes on and every acknowledged job completes.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeSync, openSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { startPostgres } from '../../../servers/postgres.ts'
import { folderVariable } from '../../../servers/process.ts'
import { startRedis } from '../../../servers/redis.ts'
import { sleep } from '../../child.ts'
import { Workload } from '../workload.ts'

const { driver, directory } = JSON.parse(process.argv[2]!) as { driver: string; directory: string }
const small = join(directory, 'small')
mkdirSync(small)
chmodSync(directory, 0o755)
const size = driver === 'redis' ? '64m' : '300m'
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=777`, 'tmpfs', small], { encoding: 'utf8' })
if (mounted.status !== 0) say({ faults: 0, violations: [], skipped: mounted.stderr.trim() })
process.env[folderVariable] = small

// `everysec`: with `always` Redis ends itself when it cannot write.
const server = driver === 'redis' ? await startRedis({ appendonly: 'everysec' }) : await startPostgres({ fsync: true })
const open = () =>
  driver === 'redis' ? new RedisStorage({ url: server.url }) : new PostgresStorage({ url: server.url })
const workload = new Workload({ open })
const violations: string[] = []
process.on('unhandledRejection', (error) => void violations.push(`unhandled: ${String(error)}`))
await workload.start()
let faults = 0
let restarts = 0
for (let round = 0; round < 2; round++) {
  if (!(await workload.goesOn(50, 60_000))) violations.push(`round ${round}: nothing was completed for 60 s`)
  fill(join(small, 'filler'))
  faults++
  await sleep(4_000)
  rmSync(join(small, 'filler'))
  if (!server.running) {
    restarts++
    await server.restart()
  }
}
if (!(await workload.goesOn(20, 60_000))) violations.push('nothing was completed within 60 s, although there is room')
const { wrong } = await workload.end()
const errors = [...workload.errors].map(([message, times]) => `${times} × ${message}`)
await server.stop()
say({
  faults,
  violations: [...violations, ...wrong],
  note: `${workload.acked.size} jobs, server ended ${restarts} times; ${errors.slice(0, 3).join('; ')}`,
})

function fill(path: string): void {
  const descriptor = openSync(path, 'w')
  const bytes = Buffer.alloc(65_536, 1)
  try {
    while (writeSync(descriptor, bytes) > 0);
  } catch {
    // Full.
  }
  closeSync(descriptor)
}

function say(result: object): never {
  console.log(JSON.stringify(result))
  process.exit(0)
}
