// Invariant: no server and no directory outlives the process that started it, whichever way that process ends.
//
// Stopping is the rule, and done by whoever started. For the rest a shell stands beside each server and waits for the end of
// its input, which closes with our process, even by SIGKILL. At an ordinary exit we do not leave it to the shell, so that
// all is gone before we are.

import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

// Each line is the pid to end; an empty one says that there is none, as its number may be another's by now.
const script = 'while read -r line; do pid=$line; done; [ -z "$pid" ] || kill -KILL "$pid"; rm -rf "$1"'

const guards = new Set<Guard>()
process.on('exit', () => {
  for (const guard of guards) guard.clear()
})

export class Guard {
  readonly #directory: string
  readonly #shell: ChildProcess
  #server: ChildProcess | undefined

  constructor(directory: string) {
    this.#directory = directory
    // In a group of its own: what ends ours, as Ctrl-C does, must not end it, too.
    this.#shell = spawn('sh', ['-c', script, 'sh', directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    // Nobody waits for it: neither for its end nor for its input to be read.
    this.#shell.unref()
    ;(this.#shell.stdin as unknown as { unref(): void }).unref()
    // A line that it did not read before `clear` is one that it no longer needs.
    this.#shell.stdin!.on('error', () => {})
    guards.add(this)
  }

  /** The server that runs in the directory now; one at a time. */
  watch(server: ChildProcess): void {
    this.#server = server
    this.#shell.stdin!.write(`${server.pid}\n`)
    server.once('exit', () => {
      this.#server = undefined
      if (guards.has(this)) this.#shell.stdin!.write('\n')
    })
  }

  /** Ends a server that still runs, the hard way, and removes the directory. */
  clear(): void {
    guards.delete(this)
    this.#server?.kill('SIGKILL')
    this.#shell.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 })
  }
}
