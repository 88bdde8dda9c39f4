// Invariant: no server and no directory outlives the process that started it, whichever way that process ends.
//
// Stopping is the rule, and done by whoever started. For the rest: an exit and the usual signals are handled here in the
// process; for a SIGKILL a shell beside each server waits for the end of its input, which closes with the process.

import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

const servers = new Set<ChildProcess>()
const directories = new Set<string>()
let watching = false

/** Ends this server, at the latest when this process ends. */
export function endWithUs(server: ChildProcess, directory: string): void {
  watch()
  servers.add(server)
  // In a group of its own: Ctrl-C at a terminal, which is meant for us, must not end it first.
  const guard = spawn('sh', ['-c', 'read -r _; kill -KILL "$1"; rm -rf "$2"', 'sh', String(server.pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.unref()
  // The pipe must not keep us alive either, nor its end be an error when the guard is ended first.
  guard.stdin.on('error', () => {})
  ;(guard.stdin as typeof guard.stdin & { unref(): void }).unref()
  server.once('exit', () => {
    // At once: the number of a process that is gone may be given to another.
    guard.kill('SIGKILL')
    servers.delete(server)
  })
}

/** Removes this directory when this process ends, unless `removeDirectory` came first. */
export function removeWithUs(directory: string): void {
  watch()
  directories.add(directory)
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  directories.delete(directory)
}

function watch(): void {
  if (watching) return
  watching = true
  process.on('exit', endAll)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      endAll()
      // Whoever listens beside us decides what the signal means; if nobody does, it means what it always means.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
}

function endAll(): void {
  for (const server of servers) server.kill('SIGKILL')
  for (const directory of directories) removeDirectory(directory)
}
