// Runs the servers in processes of their own, as users run them: requests, a job, SIGTERM.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

for (const file of ['express', 'fastify', 'next/stand-in']) {
  test(`[F34] web/${file}.ts is ready, and lets a running job end before it exits on SIGTERM`, async (t) => {
    const { url, child, until, rest } = await serve(t, `${file}.ts`)
    for (const path of ['/live', '/ready']) {
      const answer = await fetch(`${url}${path}`)
      assert.equal(answer.status, 200)
      assert.equal(((await answer.json()) as { ok: boolean }).ok, true)
    }
    const added = await fetch(`${url}/mails/m-1`, { method: 'POST' })
    assert.deepEqual([added.status, await added.json()], [202, { status: 'queued' }])
    await until('m-1 runs')
    child.kill('SIGTERM')
    assert.deepEqual(await rest(), ['m-1 completed', 'the queue is stopped'])
    assert.deepEqual([child.exitCode, child.signalCode], [0, null])
  })
}

test('[F27] web/progress-bar.ts serves a page with a bar, and the progress of a job until its end', async (t) => {
  const { url, child, rest } = await serve(t, 'progress-bar.ts')
  const page = await fetch(url)
  assert.match(page.headers.get('content-type')!, /^text\/html/)
  const html = await page.text()
  assert.match(html, /<progress /)
  assert.match(html, /new EventSource\(`\/jobs\//)

  const { id } = (await (await fetch(`${url}/jobs`, { method: 'POST' })).json()) as { id: string }
  // The server ends the stream after the last message.
  const messages = await messagesOf(`${url}/jobs/${id}`)
  const shown = messages.map(({ progress }) => progress)
  assert.deepEqual(messages.at(-1), { state: 'completed', progress: 1, hasEnded: true })
  assert.equal(messages.filter(({ hasEnded }) => hasEnded).length, 1)
  assert.deepEqual(
    shown,
    shown.toSorted((a, b) => a - b),
    'it never goes back',
  )
  // A page that is opened later gets the end at once.
  assert.deepEqual(await messagesOf(`${url}/jobs/${id}`), messages.slice(-1))
  assert.deepEqual(await messagesOf(`${url}/jobs/none`), [{ state: 'unknown', progress: 0, hasEnded: true }])

  child.kill('SIGTERM')
  await rest()
  assert.deepEqual([child.exitCode, child.signalCode], [0, null])
})

interface Message {
  readonly state: string
  readonly progress: number
  readonly hasEnded: boolean
}

async function messagesOf(stream: string): Promise<Message[]> {
  const answer = await fetch(stream)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const blocks = (await answer.text()).split('\n\n').filter((block) => block !== '')
  return blocks.map((block) => JSON.parse(/^data: (.*)$/.exec(block)![1]!) as Message)
}

interface Served {
  readonly url: string
  readonly child: ChildProcess
  /** Reads lines up to this one. */
  until(line: string): Promise<void>
  /** Waits for the end of the process. @returns the lines that are left */
  rest(): Promise<string[]>
}

/** Starts a server on a free port of this machine. */
async function serve(t: TestContext, file: string): Promise<Served> {
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', `${folder}${file}`], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${file} ended`)
    return value
  }
  const { port, address } = /(?=.*address: '(?<address>[^']*)')(?=.*port: (?<port>\d+))/.exec(await next())!.groups!
  assert.equal(address, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${port}`,
    child,
    async until(line) {
      while ((await next()) !== line);
    },
    async rest() {
      await exited
      const left: string[] = []
      for (let line = await lines.next(); !line.done; line = await lines.next()) left.push(line.value)
      return left
    },
  }
}
