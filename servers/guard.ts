// Invariant: no server and no directory outlives the process that started it, however that process ends.
//
// Normally the code that started a server stops it. For all other ends, a shell per server waits for the end of
// its input, which closes with our process, even by SIGKILL. At an ordinary exit this process cleans up itself, so that
// everything is gone before it ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

// Each line is the pid to end; an empty line means none, because the number may belong to another process by now.
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
    // In its own process group: a signal to ours, such as Ctrl-C, must not end the shell.
    this.#shell = spawn('sh', ['-c', script, 'sh', directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    // The event loop waits neither for the shell's end nor for its input.
    this.#shell.unref()
    ;(this.#shell.stdin as unknown as { unref(): void }).unref()
    // A write error after `clear` is harmless: the shell no longer needs the line.
    this.#shell.stdin!.on('error', () => {})
    guards.add(this)
  }

  /** Pid of the server that runs in the directory; one at a time. */
  watch(server: ChildProcess): void {
    this.#server = server
    this.#shell.stdin!.write(`${server.pid}\n`)
    server.once('exit', () => {
      this.#server = undefined
      if (guards.has(this)) this.#shell.stdin!.write('\n')
    })
  }

  /** Kills a server that still runs and removes the directory. */
  clear(): void {
    guards.delete(this)
    this.#server?.kill('SIGKILL')
    this.#shell.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 })
  }
}
