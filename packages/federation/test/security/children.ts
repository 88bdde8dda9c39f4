// Starts the hostile server and the sender, each in its own process.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Order, Sent } from './sender-child.ts'

const execArgv = ['--conditions=@holdfast/source']
const attackerFile = fileURLToPath(new URL('attacker-child.ts', import.meta.url))
const senderFile = fileURLToPath(new URL('sender-child.ts', import.meta.url))

/** Returns its URL. It ends with the test. */
export async function attacker(t: TestContext): Promise<string> {
  const child = fork(attackerFile, { execArgv })
  t.after(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return `http://127.0.0.1:${port}`
}

/** Requests these URLs in a new process, and returns the result of each. @param env added to that of this process */
export async function send(order: Order, env: NodeJS.ProcessEnv = {}): Promise<readonly Sent[]> {
  const child = fork(senderFile, [JSON.stringify(order)], { execArgv, env: { ...process.env, ...env } })
  const said: Sent[] = []
  child.on('message', (all: Sent[]) => said.push(...all))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0 || said.length !== order.urls.length) throw new Error(`the sender ended with ${code}`)
  return said
}
