// Sits beside the supervisor and knows the ids of its processes. When the supervisor is gone, however it went, it ends them:
// a process that was stopped by SIGSTOP cannot do so itself.

import { createInterface } from 'node:readline'

const pids = new Set<number>()
// Ends by its pipe alone.
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
        // It is gone.
      }
    }
  })
