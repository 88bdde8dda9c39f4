// The host of a real process: its streams, signals and terminal.

import { on } from 'node:events'
import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { systemClock } from '../clock.ts'
import type { Host } from './host.ts'

export function processHost(): Host {
  const { stdin, stdout, stderr } = process
  const interruption = new AbortController()
  let isListening = false
  // A reader that has gone, as of `holdfast jobs | head`, is no failure: what follows is dropped, and a command that goes on ends.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      interruption.abort()
    })
  }
  return {
    clock: systemClock,
    env: process.env,
    cwd: process.cwd(),
    size: () => (stdout.isTTY ? { columns: stdout.columns || 80, rows: stdout.rows || 24 } : undefined),
    write: (text) => void (stdout.writable && stdout.write(text)),
    writeError: (text) => void (stderr.writable && stderr.write(text)),
    async readInput() {
      const chunks: Buffer[] = []
      for await (const chunk of stdin) chunks.push(chunk as Buffer)
      return Buffer.concat(chunks).toString()
    },
    ask: stdin.isTTY && stderr.isTTY ? ask : undefined,
    interruption() {
      if (!isListening) {
        isListening = true
        const stop = (): void => {
          for (const name of signals) process.off(name, stop)
          interruption.abort()
        }
        for (const name of signals) process.on(name, stop)
      }
      return interruption.signal
    },
    keys: stdin.isTTY && stdout.isTTY ? keys : undefined,
    onResize(callback) {
      stdout.on('resize', callback)
      return () => void stdout.off('resize', callback)
    },
    onCrash(callback) {
      process.on('exit', callback)
      return () => void process.off('exit', callback)
    },
    user() {
      try {
        return userInfo().username
      } catch {
        return undefined // A process without an entry in the list of users, as in some containers.
      }
    },
  }
}

const signals = ['SIGINT', 'SIGTERM'] as const

/** Asks on the standard error: the standard output is the answer of the command. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

/** A chunk may hold several keys: arrows are sequences of three characters. */
export function keysOf(chunk: string): string[] {
  const [first, ...rest] = chunk.split(arrow)
  return [...first!, ...rest.flatMap((text) => [`${arrow}${text.slice(0, 1)}`, ...text.slice(1)])]
}

/** What the sequence of an arrow begins with. */
const arrow = '\x1b['

async function* keys(signal: AbortSignal): AsyncGenerator<string> {
  const { stdin } = process
  stdin.setRawMode(true)
  try {
    for await (const [chunk] of on(stdin, 'data', { signal })) yield* keysOf(String(chunk))
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
  }
}
