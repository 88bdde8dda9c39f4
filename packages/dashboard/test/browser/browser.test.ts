// The dashboard in a real browser: each view with live data, actions, the keyboard, narrow and dark, hostile strings, axe. One browser
// and one server for all of it. Without chromium the test is skipped, and says so.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import type { PeerActions } from '@holdfast/dashboard'
import { findChromium } from '../../../../servers/find.ts'
import { startProxy } from '../../../../servers/proxy.ts'
import { isFull } from '../../../holdfast/test/full-size.ts'
import { actions } from './actions.ts'
import { openBrowser, type Served, serve } from './browser.ts'
import { hostileStrings } from './hostile-strings.ts'
import { misuses } from './misuse.ts'
import { openSample, type Sample } from './sample.ts'
import { openStorage } from '../storages.ts'

const executable = findChromium()
const skip = executable ? false : 'there is no chromium on the PATH, and CHROMIUM is not set'
// The machine may be busy: what is waited for comes, or the runner ends the test.
const timeout = 100_000

let browser: Browser
let sample: Sample
let server: Served
let page: Page
/** What must not happen on any page: errors of scripts, refusals by the policy, dialogues. */
const incidents: string[] = []

/** @param expected what the console may say */
const watch = (watched: Page, expected?: RegExp): Page => {
  watched.setDefaultTimeout(timeout)
  watched.on('pageerror', (error) => incidents.push(`error: ${error.message}`))
  watched.on('console', (message) => {
    if (message.type() === 'error' && !expected?.test(message.text())) {
      incidents.push(`console: ${message.text()} ${message.location().url}`)
    }
  })
  watched.on('dialog', (dialog) => {
    incidents.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return watched
}

before(async () => {
  if (!executable) return
  ;[browser, sample] = await Promise.all([openBrowser(executable), openSample()])
  server = await serve(sample.storage)
  page = watch(await browser.newPage({ viewport: { width: 1_180, height: 720 } }))
})
after(async () => {
  await browser?.close()
  await server?.close()
  await sample?.close()
})

const go = async (path: string, ready: string): Promise<void> => {
  await page.goto(`${server.url}${path.replace(':order', sample.orderId)}`)
  await page.waitForSelector(ready)
}
const textOf = (selector: string): Promise<string> => page.locator(selector).first().innerText()

const views: readonly (readonly [path: string, ready: string, text: RegExp])[] = [
  ['/', '.chart', /2 types do not keep up[\s\S]*Attempts ended per minute[\s\S]*Where the time went[\s\S]*webhooks/],
  ['/jobs?q=state:failed', 'table.jobs tbody tr', /mail-6[\s\S]*ECONNREFUSED/],
  ['/job?face=queue&name=mail&id=mail-6', '.lane', /Failed at .* after 3 attempts[\s\S]*run 3 failed/i],
  ['/job?face=queue&name=thumbnails&id=anchor.jpg&tab=log', '.log', /runs since .* on worker images-1[\s\S]*decoded/i],
  ['/types', 'table', /webhooks[\s\S]*no worker[\s\S]*mail[\s\S]*\/ 8/],
  ['/schedules', 'table', /digest[\s\S]*Monday to Friday at 06:30/],
  ['/workers', '.worker', /images-1[\s\S]*harbour\.jpg/],
  ['/limits', 'table', /mail[\s\S]*\/ 500[\s\S]*group acme/],
  ['/findings', '.finding', /5 jobs of queue 'webhooks' are due[\s\S]*Start a worker/],
  ['/audit', 'table', /eve@example\.com[\s\S]*refused[\s\S]*grace@example\.com[\s\S]*mail-12/],
  ['/job?face=chain&name=ship&id=:order&tab=chain', '.node', /Waits for 2 of 4 blockers[\s\S]*must complete before/],
]

for (const [path, ready, text] of views) {
  test(
    `${path} shows its data, no table is wider than its panel, and axe finds nothing serious, light and dark`,
    { skip },
    async () => {
      await page.emulateMedia({ colorScheme: 'light' })
      await go(path, ready)
      assert.match(await textOf('main'), text)
      assert.equal(await page.evaluate(wideTables), 0)
      await checkAccessibility(path)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.match(await textOf('main'), text)
      // The same elements: only the colors differ.
      await checkAccessibility(path, 'color-contrast')
    },
  )
}

test('no hyphen breaks a name that has room, in any table at 1,180 px', { skip }, async () => {
  for (const [path, ready, name] of [
    ['/', 'table', 'check-address'],
    ['/types', 'table', 'check-address'],
    ['/limits', 'table', 'check-address'],
    ['/job?face=queue&name=mail&id=mail-6&tab=attempts', '[role=tabpanel] table', 'mailer-1'],
  ] as const) {
    await go(path, ready)
    const heights = await page
      .locator('td bdi, th bdi')
      .filter({ hasText: new RegExp(`^${name}$`) })
      .evaluateAll((found) => found.map((one) => Math.round(one.getBoundingClientRect().height)))
    assert.ok(heights.length > 0 && heights.every((height) => height <= 24), `${path}: ${heights.join()}`)
    assert.equal(await page.evaluate(wideTables), 0, path)
  }
})

test('a filter that cannot be read is told once; nothing is offered for a list without jobs', { skip }, async () => {
  await go('/jobs?q=state:broken', '.empty')
  assert.match(await textOf('.filter-errors'), /There is no state 'broken'/)
  assert.equal(await page.locator('.problem, .action-bar').count(), 0)
  assert.equal((await textOf('main')).match(/There is no state/g)?.length, 1)
  await go('/jobs?q=type:none', '.empty')
  assert.match(await textOf('.empty'), /No job matches/)
  assert.equal(await page.locator('.action-bar button:disabled').count(), 3)
})

test('at 390 px the tab that the URL names is in sight, and the words of an axis do not meet', { skip }, async (t) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } })
  t.after(() => context.close())
  const narrow = watch(await context.newPage())
  await narrow.goto(`${server.url}/job?face=queue&name=mail&id=mail-6&tab=details`)
  await narrow.waitForSelector('[role=tabpanel] dl')
  const [tab, list] = await Promise.all(
    ['[role=tab][aria-selected=true]', '[role=tablist]'].map((one) => narrow.locator(one).boundingBox()),
  )
  assert.ok(tab!.x >= list!.x && tab!.x + tab!.width <= list!.x + list!.width, JSON.stringify([tab, list]))
  for (const range of ['15m', '1h', '24h', '30d']) {
    await narrow.goto(`${server.url}/?range=${range}`)
    await narrow.waitForSelector('.chart-times')
    const overlaps = await narrow.locator('.chart-times').evaluateAll((axes) =>
      axes.flatMap((axis) => {
        const boxes = [...axis.children].map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 0)
        const sorted = boxes.toSorted((a, b) => a.left - b.left)
        return sorted.filter((box, index) => index > 0 && box.left < sorted[index - 1]!.right)
      }),
    )
    assert.equal(overlaps.length, 0, range)
  }
})

test('the overview loads at most 60 kB of files after gzip, and none from elsewhere', { skip }, async (t) => {
  const context = await browser.newContext()
  t.after(() => context.close())
  const fresh = watch(await context.newPage())
  const files = new Map<string, Promise<Buffer>>()
  fresh.on('response', (response) => {
    if (!new URL(response.url()).pathname.startsWith('/admin/jobs/api/')) files.set(response.url(), response.body())
  })
  await fresh.goto(server.url, { waitUntil: 'load' })
  await fresh.waitForSelector('.chart')
  let bytes = 0
  for (const [url, body] of files) {
    assert.ok(url.startsWith(server.url), url)
    bytes += gzipSync(await body).length
  }
  assert.ok(files.size >= 3 && bytes <= 60_000, `${files.size} files, ${bytes} bytes`)
})

/** Runs in the page. */
const wideTables = (): number =>
  [...document.querySelectorAll<HTMLElement>('.panel > table')].filter(
    (table) => table.offsetWidth > table.parentElement!.clientWidth,
  ).length

/** @param rule the only one to check. @default all */
async function checkAccessibility(path: string, rule?: string): Promise<void> {
  // Evaluated by the debugger, which the policy of the page does not restrict.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const found = await page.evaluate(async (only) => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(options: {
          runOnly?: string[]
          resultTypes: string[]
        }): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>
      }
    }
    // All rules are checked; what passes is not described.
    const options = { resultTypes: ['violations'], ...(only !== undefined && { runOnly: [only] }) }
    const { violations } = await checker.run(options)
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }, rule)
  assert.deepEqual(found, [], path)
}

test('at 390 px nothing is wider than the screen', { skip }, async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  for (const [path, ready] of views) {
    await go(path, ready)
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(inner! <= outer!, `${path}: ${inner} of ${outer} px`)
  }
  await page.setViewportSize({ width: 1_180, height: 720 })
})

test(
  'at 390 px every view is one or two taps away, and each target is large enough for a finger',
  { skip },
  async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await go('/', '.tiles')
    const more = page.getByRole('button', { name: 'More' })
    assert.equal(await page.getByRole('link', { name: 'Audit' }).isVisible(), false)
    await more.click()
    await checkAccessibility('the sheet of the bar')
    for (const target of await page.locator('.nav a:visible, .nav button:visible').all()) {
      const { width, height } = (await target.boundingBox())!
      assert.ok(width >= 44 && height >= 44, `${await target.textContent()}: ${width} × ${height} px`)
    }
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    assert.equal(await more.getAttribute('aria-expanded'), 'false')
    await more.click()
    await page.getByRole('link', { name: 'Limits' }).focus()
    await page.keyboard.press('Escape')
    assert.equal(await more.getAttribute('aria-expanded'), 'false')
    await page.setViewportSize({ width: 1_180, height: 720 })
    assert.equal(await more.isVisible(), false)
  },
)

test(
  '[F43] replay: an edit shows its difference, a mistake is named, and the new job opens with a link to the old',
  { skip },
  async () => {
    await go('/job?face=queue&name=mail&id=mail-6', '.lane')
    await page.keyboard.press('e')
    const dialog = page.getByRole('dialog')
    const field = dialog.getByLabel('Payload, as JSON')
    await field.fill('{ "to": ')
    await dialog.getByText(/JSON/).nth(1).waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Replay with this payload' }).isDisabled(), true)
    await field.fill('{\n  "to": "ada@example.com",\n  "subject": "Order 1006"\n}')
    assert.match(await textOf('.diff-line.removed'), /ada@down\.example/)
    assert.match(await textOf('.diff-line.added'), /ada@example\.com/)
    await checkAccessibility('replay dialogue')
    await dialog.getByRole('button', { name: 'Replay with this payload' }).click()
    await page.waitForURL((url) => !url.search.includes('id=mail-6'))
    await page.getByText('completed', { exact: true }).first().waitFor()
    await page.getByRole('tab', { name: 'Details' }).click()
    await page.getByRole('link', { name: 'mail-6' }).waitFor()
  },
)

test('[F43] the graph of a chain: each job is a link, and completed ones can be hidden', { skip }, async () => {
  await go('/job?face=chain&name=ship&id=:order&tab=chain', '.node')
  assert.equal(await page.locator('.node').count(), 7)
  assert.equal(await page.locator('.edge.blocker').count(), 4)
  const isInFrame = (): Promise<boolean> =>
    page.locator('.graph').evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)
  const larger = page.getByRole('button', { name: 'Larger' })
  while (await larger.isEnabled()) await larger.click()
  assert.equal(await isInFrame(), false)
  await page.getByRole('button', { name: 'Fit' }).click()
  assert.equal(await isInFrame(), true)
  await page.getByLabel('Hide 4 completed').check()
  assert.equal(await page.locator('.node').count(), 3)
  await page.locator('.node.state-failed', { hasText: 'charge-card' }).click()
  await page.waitForURL(/name=charge-card/)
  await page.getByText('card declined').first().waitFor()
})

test('[F43] charts: the range is in the URL, and the figures are in a table', { skip }, async () => {
  await go('/', '.chart')
  assert.ok((await page.locator('.chart-bar').count()) > 50)
  await page.getByRole('button', { name: '15 min' }).click()
  await page.waitForURL(/range=15m/)
  await page.waitForFunction(() => document.querySelectorAll('.chart table tbody tr').length <= 30)
  await page.reload()
  await page.locator('.segments [aria-pressed=true]', { hasText: '15 min' }).waitFor()
})

test('[F43] charts: the pointer and the arrow keys show the figures of a time', { skip }, async () => {
  await go('/', '.chart')
  const area = page.locator('.chart-area').first()
  const tip = page.locator('.chart-tip')
  await area.hover()
  assert.match(await textOf('.chart-tip'), /\d/)
  await page.mouse.move(0, 0)
  await tip.waitFor({ state: 'detached' })
  await area.focus()
  await page.keyboard.press('ArrowLeft')
  const last = await textOf('.chart-tip .muted')
  await page.keyboard.press('ArrowLeft')
  assert.notEqual(await textOf('.chart-tip .muted'), last)
  await page.keyboard.press('Escape')
  await tip.waitFor({ state: 'detached' })
})

test('[F43] the link of a job, and the code that reads it, are copied', { skip }, async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await go('/job?face=queue&name=mail&id=mail-6&tab=details', '.lane')
  const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('The link is copied.').waitFor()
  assert.equal(await copied(), page.url())
  await page.getByRole('button', { name: 'Copy as code' }).click()
  await page.getByText('The code is copied.').waitFor()
  assert.match(await copied(), /admin\.jobs\.get\(\{ face: 'queue', name: 'mail', id: 'mail-6' \}\)/)
})

test('a bulk action tells the count, asks, shows its result, and the list is empty then', { skip }, async () => {
  await go('/jobs?q=type:webhooks state:queued', 'table.jobs tbody tr')
  await page.getByRole('button', { name: 'Cancel all…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('5 jobs that match').waitFor()
  await checkAccessibility('bulk dialogue')
  await dialog.getByRole('button', { name: 'Cancel them' }).click()
  await dialog.getByText('Done:').waitFor()
  assert.match(await dialog.innerText(), /5 changed/)
  await dialog.locator('.dialog-actions').getByRole('button', { name: 'Close' }).click()
  await page.getByText('No job matches').waitFor()
})

test('keyboard: g j, /, j, x, Enter and back; the URL is the state', { skip }, async () => {
  await go('/', '.tiles')
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.waitForSelector('table.jobs')
  await page.keyboard.press('/')
  await page.keyboard.type('type:mail state:failed')
  await page.keyboard.press('Enter')
  await page.waitForURL(/q=type%3Amail\+state%3Afailed/)
  await page.waitForFunction(() => {
    const states = [...document.querySelectorAll('tbody .badge')].map(({ textContent }) => textContent)
    return states.length > 0 && states.every((state) => state === 'failed')
  })
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByText('1 job selected').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForSelector('.lane')
  await page.goBack()
  await page.waitForSelector('table.jobs')
  assert.equal(await page.inputValue('#filter'), 'type:mail state:failed')
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('go to the workers').waitFor()
  await page.keyboard.press('Escape')
})

test('keyboard: Escape leaves a dialogue, and what was selected stays selected', { skip }, async () => {
  await go('/jobs?q=state:failed', 'table.jobs tbody tr')
  for (const key of ['j', 'x', 'j', 'x', 'c']) await page.keyboard.press(key)
  await page.waitForSelector('dialog[open]')
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !document.querySelector('dialog[open]'))
  assert.match(await textOf('.action-bar'), /^2 jobs selected/)
})

test(
  'back returns to the row from which a job was opened; the next page begins at its top, without a gap',
  { skip },
  async (t) => {
    const storage = new MemoryStorage()
    const added = Array.from({ length: 120 }, (_, n) => ({
      type: 'queue.many',
      id: `many-${n}`,
      token: `${n}`,
      delayMs: 3_600_000,
      retention: { completedMs: 1, failedMs: 1, cancelledMs: 1 },
    }))
    await storage.add(added)
    const many = await serve(storage)
    const own = watch(await browser.newPage({ viewport: { width: 1_180, height: 720 } }))
    t.after(async () => {
      await own.close()
      await many.close()
    })
    await own.goto(`${many.url}/jobs`)
    await own.waitForSelector('table.jobs tbody tr')
    const link = own.locator('table.jobs tbody tr').nth(40).locator('th a')
    await link.scrollIntoViewIfNeeded()
    const left = await own.evaluate(() => scrollY)
    assert.ok(left > 200, `${left}`)
    await link.click()
    await own.waitForSelector('.job-id')
    assert.equal(await own.evaluate(() => scrollY), 0)
    await own.goBack()
    await own.waitForFunction((top) => scrollY === top, left)

    // While the next page is read, the one before is shown: the list is never empty.
    const seen = await own.evaluate(() => {
      const counts: number[] = []
      const observer = new MutationObserver(() => counts.push(document.querySelectorAll('table.jobs tbody tr').length))
      observer.observe(document.querySelector('main')!, { childList: true, subtree: true })
      ;(globalThis as unknown as { counts: number[] }).counts = counts
      return counts.length
    })
    assert.equal(seen, 0)
    const first = await textOfIn(own, 'table.jobs tbody th')
    await own.getByRole('button', { name: 'Next page' }).click()
    await own.waitForFunction((id) => document.querySelector('table.jobs tbody th')?.textContent !== id, first)
    assert.equal(await own.evaluate(() => scrollY), 0)
    const counts = await own.evaluate(() => (globalThis as unknown as { counts: number[] }).counts)
    assert.ok(counts.length > 0 && counts.every((count) => count > 0), counts.join())
  },
)

const textOfIn = (of: Page, selector: string): Promise<string> => of.locator(selector).first().innerText()

test(
  'a connection that is cut: the page says so, keeps its figures, and goes on when it is back',
  { skip },
  async (t) => {
    const proxy = await startProxy(Number(new URL(server.url).port))
    const own = watch(await browser.newPage(), /ERR_|Failed to load resource/)
    t.after(async () => {
      await own.close()
      await proxy.stop()
    })
    await own.goto(server.url.replace(/:\d+/, `:${proxy.port}`))
    await own.waitForSelector('.foot .dot.open')
    await own.waitForSelector('.tile')
    const figure = await textOfIn(own, '.tile-value')
    proxy.refuse(true)
    proxy.cut()
    await own.getByText('The server does not answer.').first().waitFor()
    assert.equal(await textOfIn(own, '.tile-value'), figure)
    await own.getByRole('link', { name: 'Jobs' }).first().click()
    await own.getByText('Reading the list failed (OFFLINE).').waitFor()
    proxy.refuse(false)
    await own.waitForSelector('.foot .dot.open')
    await own.waitForSelector('table.jobs tbody tr')
    assert.equal(await own.locator('.problem').count(), 0)
  },
)

test('two viewers: what one does, the other sees by itself', { skip }, async (t) => {
  const contexts = await Promise.all([browser.newContext(), browser.newContext()])
  t.after(() => Promise.all(contexts.map((context) => context.close())))
  const [one, other] = await Promise.all(contexts.map(async (context) => watch(await context.newPage())))
  for (const viewer of [one!, other!]) {
    await viewer.goto(`${server.url}/types`)
    await viewer.getByRole('button', { name: 'Pause invoices', exact: true }).waitFor()
  }
  await one!.getByRole('button', { name: 'Pause invoices', exact: true }).click()
  await other!.getByRole('button', { name: 'Resume invoices', exact: true }).click()
  await one!.getByRole('button', { name: 'Pause invoices', exact: true }).waitFor()
})

test('an error of the filter is said at once', { skip }, async () => {
  await go('/jobs', '#filter')
  await page.fill('#filter', 'state:broken')
  await page.getByText("There is no state 'broken'").waitFor()
})

test('new jobs appear by themselves', { skip }, async () => {
  await go('/jobs?q=type:mail', 'table.jobs')
  await sample.mail.enqueue('mail-live', { to: 'live@example.com', subject: 'Live' })
  await page.getByText('mail-live').waitFor()
})

test('a person who may only look sees no payload and no button', { skip }, async () => {
  const limited = await serve(sample.storage, { authorize: () => ({ actor: 'guest' }) })
  const guest = watch(await browser.newPage())
  await guest.goto(`${limited.url}/job?face=queue&name=mail&id=mail-6&tab=payload`)
  await guest.getByText('permission viewPayload').waitFor()
  assert.equal(await guest.locator('main button:not([role=tab])').count(), 0)
  await guest.close()
  await limited.close()
})

test('a new install is told how to begin', { skip }, async () => {
  const empty = await serve(new MemoryStorage())
  const first = watch(await browser.newPage())
  await first.goto(empty.url)
  await first.getByText('No job yet').waitFor()
  await first.getByText('new Queue').waitFor()
  await first.close()
  await empty.close()
})

test('[H10] hostile strings in every field run nothing and add no element', { skip }, async () => {
  const storage = new MemoryStorage()
  const queues = await Promise.all(hostileStrings.map((text, index) => hostileJob(storage, text, index)))
  const hostile = await serve(storage, { peers: hostilePeers })
  const seen = watch(await browser.newPage({ viewport: { width: 390, height: 844 } }))
  for (const path of ['/', '/jobs', '/types', '/workers', '/limits', '/schedules', '/audit', '/findings', '/peers']) {
    await seen.goto(`${hostile.url}${path}`)
    await seen.waitForSelector('.panel, .empty')
    assert.equal(await foreign(seen), 0, path)
  }
  for (const text of hostileStrings) {
    await seen.goto(`${hostile.url}/job?${new URLSearchParams({ face: 'queue', name: text, id: text })}`)
    for (const tab of ['Error', 'Payload', 'Progress', 'Log', 'Attempts', 'Details']) {
      // By an event and by selectors of CSS: a mouse, and roles, take the page several times as long.
      await seen.locator('[role=tab]', { hasText: tab }).dispatchEvent('click')
      await seen.locator('[role=tab][aria-selected=true]', { hasText: tab }).waitFor()
      assert.equal(await foreign(seen), 0, `${tab} of ${text}`)
    }
    const [width, screen] = await seen.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(width! <= screen!, `${text}: ${width} of ${screen} px`)
  }
  await seen.close()
  await hostile.close()
  await Promise.all(queues.map((queue) => queue.stop({ graceMs: 0 })))
})

/** Other servers whose every field is a hostile string. */
const hostilePeers: PeerActions = {
  list: async () => hostileStrings.map((url) => ({ url })),
  explain: async (url) => ({ origin: url, state: url, why: url, open: 1, lastError: url }),
  pause: async () => {},
  resume: async () => {},
  probe: async () => false,
  block: async () => {},
  unblock: async () => false,
}

/** Elements that only a string of ours could have made. */
const foreign = (seen: Page): Promise<number> =>
  seen.locator('img, iframe, b, marquee, object, script:not([src]), [onerror], [onload]').count()

for (const driver of ['sqlite', 'redis', 'postgres'] as const) {
  // What the server answers and does on each driver is in drivers.test.ts. The browser meets the servers in `npm run test:all`.
  const skipDriver = skip || (driver !== 'sqlite' && !isFull && 'test:all')
  describe(`${driver}: the dashboard in the browser, with live workers`, { skip: skipDriver }, () => {
    let own: Sample
    let at: Parameters<(typeof actions)[string]>[0]
    const ends: (() => Promise<void>)[] = []
    before(async () => {
      if (!executable) return
      const { storage, close } = await openStorage(driver)
      own = await openSample(storage)
      const served = await serve(storage)
      // The browser tells every 4xx: of a job that is removed while it is shown, and of a rule that is wrong.
      const seen = watch(await browser.newPage({ viewport: { width: 1_180, height: 900 } }), /status of (400|404)/)
      at = { page: seen, url: served.url, orderId: own.orderId }
      ends.push(() => seen.close(), served.close, own.close, close)
    })
    after(async () => {
      for (const end of ends) await end()
    })

    // On memory, above, they are the same pages.
    test('[F43] every view', { skip: !isFull && 'test:all' }, async () => {
      for (const [path, ready, text] of views) {
        await at.page.goto(`${at.url}${path.replace(':order', own.orderId)}`)
        await at.page.waitForSelector(ready)
        assert.match(await at.page.locator('main').innerText(), text, path)
      }
    })
    for (const [name, act] of Object.entries(actions)) test(`[F43] ${name}`, () => act(at))
  })
}

test(
  '[H10] a payload, result and log of 10 MB in all: the page shows the beginning, and stays usable',
  { skip },
  async () => {
    const storage = new MemoryStorage()
    const big = new Queue<string, string>({ storage, name: 'big', maxPayloadBytes: 2 ** 25, maxResultBytes: 2 ** 25 })
    const text = `<img src=x onerror=alert(1)>\u202e${'x'.repeat(10_000_000)}`
    big.execute((job) => {
      job.log(text.slice(0, 4_000))
      return text
    })
    await big.start()
    await big.enqueueAndWait('large', text)
    const served = await serve(storage)
    const seen = watch(await browser.newPage({ viewport: { width: 390, height: 844 } }))
    await seen.goto(`${served.url}/job?face=queue&name=big&id=large`)
    for (const tab of ['Payload', 'Result', 'Log']) {
      await seen.locator('[role=tab]', { hasText: tab }).dispatchEvent('click')
      await seen.locator('[role=tab][aria-selected=true]', { hasText: tab }).waitFor()
      if (tab !== 'Log')
        await seen
          .getByText(/of 9\.5 MiB|9\.5 MiB/)
          .first()
          .waitFor()
      assert.equal(await foreign(seen), 0, tab)
      const [width, screen] = await seen.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      assert.ok(width! <= screen!, `${tab}: ${width} of ${screen} px`)
      const shown = await seen.locator('#tab-panel').innerText()
      assert.ok(shown.length < 300_000, `${tab}: ${shown.length} characters`)
    }
    await seen.close()
    await served.close()
    await big.stop()
  },
)

for (const [name, misuse] of Object.entries(misuses)) {
  test(`[F43] ${name}`, { skip }, () => misuse({ browser, watch }))
}

test('no page had an error, a dialogue, or a refusal by its policy', { skip }, () => {
  assert.deepEqual(incidents, [])
})

/** A failed job whose every field is the text. */
async function hostileJob(storage: MemoryStorage, text: string, index: number): Promise<Queue<string>> {
  const queue = new Queue<string>({
    storage,
    name: text,
    workerId: text,
    maxAttempts: 1,
    searchFields: { field: 'string' },
  })
  queue.execute((job) => {
    job.log(text, { [text]: text })
    job.progress(text)
    throw Object.assign(new Error(text), { name: text, code: text })
  })
  await queue.start()
  await queue.schedules.put(`${text} ${index}`, { everyMs: 3_600_000, payload: text })
  await queue.enqueueAndWait(text, text, { search: { field: text }, group: text }).catch(() => {})
  await queue.setLimits({ limit: 2 }, { group: text, by: text })
  const admin = createAdmin({ storage, by: text })
  await admin.audit.record({ what: text })
  await admin.close()
  return queue
}
