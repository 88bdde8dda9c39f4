// holdfast dashboard: who gets in, on SQLite and on a Redis server.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { loadDashboard } from '../../src/cli/load-dashboard.ts'
import { quickFolder } from '../drivers.ts'
import { until } from '../queue/driver.ts'
import { stopPlaces } from '../redis-places.ts'
import { placeWith, start } from './test-host.ts'

after(stopPlaces)

async function served(t: TestContext, driver: 'sqlite' | 'redis', ...more: readonly string[]) {
  const { at, folder } = await placeWith(t, driver)
  const running = start(['dashboard', '--json', ...more, ...at], { cwd: folder })
  await until(() => running.out() !== '')
  const url = new URL(JSON.parse(running.out()).url as string)
  t.after(async () => {
    running.interrupt()
    assert.equal((await running.ended).code, 0)
  })
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(new URL(path, url.origin), { redirect: 'manual', headers })
  return { url, get }
}

for (const driver of ['sqlite', 'redis'] as const) {
  test(`[F44] ${driver}: the link opens the dashboard once, for a cookie; everything else is refused`, async (t) => {
    const { url, get } = await served(t, driver)
    assert.equal(url.hostname, '127.0.0.1')
    const without = await get('/')
    assert.deepEqual([without.status, /the link that the command printed/.test(await without.text())], [403, true])
    assert.equal((await get('/?token=guess')).status, 403)
    const entered = await get(`/${url.search}`)
    assert.deepEqual([entered.status, entered.headers.get('location')], [303, '/'])
    const set = entered.headers.get('set-cookie')!
    assert.match(set, /; HttpOnly; SameSite=Strict; Path=\/$/)
    const cookie = set.split(';')[0]!
    // The link of another person's history.
    const again = await get(`/${url.search}`)
    assert.deepEqual([again.status, /used before/.test(await again.text())], [403, true])
    assert.equal((await get(`/${url.search}`, { cookie })).status, 303)

    const overview = await get('/api/overview', { cookie })
    assert.equal(overview.status, 200)
    const { data } = (await overview.json()) as { data: { types: { name: string }[] } }
    assert.ok(data.types.some(({ name }) => name === 'mail'))
    const { data: session } = (await (await get('/api/session', { cookie })).json()) as {
      data: { actor: string; can: string[] }
    }
    assert.equal(session.actor, 'ada')
    assert.ok(session.can.includes('remove'))
    assert.equal((await sent(url, cookie, { host: 'jobs.example' })).status, 403)
    // A path that begins with two slashes would be another server in a redirect.
    const astray = await sent(url, cookie, { path: '//evil.example/?token=x' })
    assert.deepEqual(astray, { status: 303, location: '/' })
    assert.equal((await get('/api/overview', { cookie: `${cookie}x` })).status, 403)
    // What was refused is in the audit log.
    await until(async () => {
      const { data: log } = (await (await get('/api/audit', { cookie })).json()) as {
        data: { items: { what: string; by: string; refused?: true }[] }
      }
      return log.items.some(({ what, by, refused }) => refused && by === 'unknown' && what.startsWith('GET /'))
    })
  })
}

test('[F44] --read-only grants the permissions to look, and no other', async (t) => {
  const { url, get } = await served(t, 'sqlite', '--read-only')
  const cookie = (await get(`/${url.search}`)).headers.get('set-cookie')!.split(';')[0]!
  const { data } = (await (await get('/api/session', { cookie })).json()) as { data: { can: string[] } }
  assert.deepEqual(data.can.toSorted(), ['view', 'viewPayload'])
})

test('[F44] a package that is not installed is named, with the command that installs it', async (t) => {
  const folder = await mkdtemp(join(quickFolder, 'holdfast-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await assert.rejects(
    loadDashboard(folder, async () => {
      throw Object.assign(new Error("Cannot find package '@holdfast/dashboard'"), { code: 'ERR_MODULE_NOT_FOUND' })
    }),
    /not installed\. Run: npm install @holdfast\/dashboard$/,
  )
  // One that is installed and broken is not missing.
  await assert.rejects(
    loadDashboard(folder, async () => {
      throw new SyntaxError('broken')
    }),
    /broken/,
  )
  // That of the working directory comes first.
  const place = join(folder, 'node_modules/@holdfast/dashboard')
  await mkdir(place, { recursive: true })
  await writeFile(join(place, 'package.json'), '{"name":"@holdfast/dashboard","type":"module","exports":"./index.js"}')
  await writeFile(join(place, 'index.js'), "export const permissions = ['own']")
  assert.deepEqual((await loadDashboard(folder)).permissions, ['own'])
})

/** fetch() does not let a caller set the host, or a path that begins with two slashes. */
function sent(
  { hostname, port }: URL,
  cookie: string,
  { host = hostname, path = '/api/overview' },
): Promise<{ readonly status: number; readonly location: string | undefined }> {
  return new Promise((resolve, reject) => {
    request({ host: hostname, port, path, headers: { host: `${host}:${port}`, cookie } }, (response) => {
      response.resume()
      resolve({ status: response.statusCode!, location: response.headers.location })
    })
      .on('error', reject)
      .end()
  })
}
