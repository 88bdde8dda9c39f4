// A process beside the supervisor that knows the pids of its children. When the supervisor ends, in any way, it kills them:
// a child stopped by SIGSTOP cannot end itself.

import { createInterface } from 'node:readline'

const pids = new Set<number>()
// It ends only when its pipe closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const pid = Number(line.slice(1))
    if (line.startsWith('+')) pids.add(pid)
    else pids.delete(pid)
  })
  .on('close', () => {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The process has ended.
      }
    }
  })
