// Runs the servers in processes of their own, as users run them: the page, its assets, data, a stream, a write, SIGTERM.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const headers = { authorization: `Basic ${Buffer.from('ada:secret').toString('base64')}` }

/** Whether the program is on the PATH. */
const isInstalled = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

const node = [process.execPath, '--conditions=@holdfast/source'] as const
/** Each with the program that runs it. Bun and Deno use what `npm run build` built. */
const servers: readonly (readonly [file: string, program: string, ...args: string[]])[] = [
  ...['node-http', 'express', 'fastify', 'hono', 'next-stand-in'].map((file) => [file, ...node] as const),
  ['bun', 'bun'],
  ['deno', 'deno', 'run', '-A'],
]

for (const [file, program, ...args] of servers) {
  const skip = program === process.execPath || isInstalled(program) ? false : `there is no ${program} on the PATH`
  test(`[F43] dashboard/${file}.ts serves the dashboard, and ends on SIGTERM`, { skip }, async (t) => {
    const { url, child } = await start(t, `${file}.ts`, [program, ...args])
    assert.match(await (await fetch(url)).text(), /\/jobs/)
    assert.equal((await fetch(`${url}/jobs`)).status, 401)

    const page = await (await fetch(`${url}/jobs`, { headers })).text()
    const assets = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!)
    assert.equal(assets.length, 3)
    for (const path of assets) {
      const asset = await fetch(`${url}${path}`, { headers })
      assert.equal(asset.status, 200, path)
      assert.match(asset.headers.get('cache-control')!, /immutable/)
      await asset.arrayBuffer()
    }

    const view = async (path: string) => (await fetch(`${url}/jobs/api/${path}`, { headers })).json()
    const { data } = (await view('session')) as { data: { actor: string; token: string } }
    assert.equal(data.actor, 'ada')

    const stream = await fetch(`${url}/jobs/api/stream?of=overview`, { headers })
    const reader = stream.body!.getReader()
    assert.match(Buffer.from((await reader.read()).value!).toString(), /^event: answer\ndata: .*"name":"mail"/)
    await reader.cancel()

    const write = await fetch(`${url}/jobs/api/types/pause`, {
      method: 'POST',
      headers: { ...headers, origin: url, 'content-type': 'application/json', 'x-holdfast-token': data.token },
      body: JSON.stringify({ face: 'queue', name: 'mail' }),
    })
    assert.deepEqual([write.status, await write.json()], [200, { status: 'ok' }])
    const { data: overview } = (await view('overview')) as { data: { types: { paused: { by: string } }[] } }
    assert.equal(overview.types[0]?.paused.by, 'ada')

    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  })
}

async function start(t: TestContext, file: string, [program, ...args]: readonly [string, ...string[]]) {
  const child = spawn(program, [...args, fileURLToPath(new URL(file, import.meta.url))], {
    env: { ...process.env, PORT: '0', DASHBOARD_PASSWORD: 'secret' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /port: (\d+)/.exec(line) ?? []
    if (port) return { child, url: `http://127.0.0.1:${port}` }
  }
  throw new Error(`${file} ended`)
}
