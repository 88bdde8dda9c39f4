// What people and machines do to a dashboard that no one planned: double clicks, a storage that goes away, clocks that are off, many types,
// long names. Each opens a dashboard of its own.

import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { createAdmin, MemoryStorage, Queue, type Storage } from 'holdfast'
import { serve } from './browser.ts'

interface Given {
  readonly browser: Browser
  /** Watches a page for incidents. @param expected what its console may say */
  watch(page: Page, expected?: RegExp): Page
}

const wide = { width: 1_180, height: 720 }
const narrow = { width: 390, height: 844 }

/** Waiting jobs of a type. */
async function addJobs(storage: Storage, type: string, ids: readonly string[]): Promise<void> {
  const retention = { completedMs: 3_600_000, failedMs: 3_600_000, cancelledMs: 3_600_000 }
  await storage.add(ids.map((id) => ({ type: `queue.${type}`, id, token: type, retention })))
}

async function checkWidth(page: Page, what: string): Promise<void> {
  const [width, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  assert.ok(width! <= screen!, `${what}: ${width} of ${screen} px`)
}

export const misuses: Readonly<Record<string, (given: Given) => Promise<void>>> = {
  async 'a double click is one write, and one notice'({ browser, watch }) {
    const storage = new MemoryStorage()
    const queue = new Queue<number>({ storage, name: 'mail' })
    await queue.schedules.put('hourly', { everyMs: 3_600_000, payload: 1 })
    const served = await serve(storage)
    const page = watch(await browser.newPage({ viewport: wide }))
    await page.goto(`${served.url}/schedules`)
    await page.getByRole('button', { name: 'Fire now: hourly' }).dblclick()
    await page.locator('.notice').waitFor()
    assert.equal(await page.locator('.notice').count(), 1)
    await page.goto(`${served.url}/types`)
    await page.getByRole('button', { name: 'New job of mail' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add the job' }).dblclick()
    await page.waitForURL(/\/job\?/)
    assert.equal((await queue.counts()).states.queued, 2)
    await page.close()
    await served.close()
    await queue.stop()
  },

  async 'a storage that goes away: the page says so, keeps what it has, and recovers by itself'({ browser, watch }) {
    const memory = new MemoryStorage()
    await addJobs(memory, 'mail', ['letter'])
    let isAway = false
    const storage = new Proxy(memory, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name, of)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown =>
          isAway ? Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:6379')) : Reflect.apply(value, of, args)
      },
    })
    const served = await serve(storage)
    const page = watch(await browser.newPage({ viewport: wide }), /status of 5\d\d/)
    await page.goto(`${served.url}/jobs`)
    await page.getByText('letter').waitFor()
    isAway = true
    await page.locator('.problem', { hasText: 'tried again by itself' }).first().waitFor()
    assert.ok(await page.getByText('letter').isVisible())
    // A page that is opened meanwhile has nothing to show, and says why.
    const other = watch(await browser.newPage({ viewport: narrow }), /status of 5\d\d/)
    await other.goto(served.url)
    await other.locator('.problem').first().waitFor()
    await checkWidth(other, 'problem')
    isAway = false
    await page.locator('.problem').first().waitFor({ state: 'detached' })
    await other.locator('.tiles').waitFor()
    await other.locator('.problem').first().waitFor({ state: 'detached' })
    await Promise.all([page.close(), other.close()])
    await served.close()
  },

  async 'ages follow the clock of the server when that of the browser is off'({ browser, watch }) {
    const storage = new MemoryStorage()
    await addJobs(storage, 'mail', ['letter'])
    const served = await serve(storage)
    for (const off of [-7_200_000, 7_200_000]) {
      const page = watch(await browser.newPage({ viewport: wide }))
      await page.addInitScript((ms) => {
        const now = Date.now.bind(Date)
        Date.now = () => now() + ms
      }, off)
      await page.goto(`${served.url}/jobs`)
      const age = page.locator('td[data-label=Added]')
      await age.waitFor()
      assert.match(await age.innerText(), /^(now|[\d.]+ (ms|s|min) ago)$/, `${off} ms off`)
      assert.doesNotMatch(await page.locator('.foot').innerText(), /\d h/)
      await page.close()
    }
    await served.close()
  },

  async '1,000 types: every page stays short and within the screen'({ browser, watch }) {
    const storage = new MemoryStorage()
    for (let n = 0; n < 1_000; n++) await addJobs(storage, `type-${n}`, ['a'])
    const served = await serve(storage)
    const page = watch(await browser.newPage({ viewport: narrow }))
    for (const path of ['/', '/types', '/limits', '/findings', '/jobs', '/jobs?q=id:a']) {
      await page.goto(`${served.url}${path}`)
      await page.waitForSelector('.panel, .finding')
      await checkWidth(page, path)
      const elements = await page.evaluate(() => document.querySelectorAll('*').length)
      assert.ok(elements < 8_000, `${path}: ${elements} elements`)
    }
    await page.goto(`${served.url}/types?q=type-99`)
    await page.getByText('type-999', { exact: true }).first().waitFor()
    await page.close()
    await served.close()
  },

  async 'names and ids of the greatest length break no layout'({ browser, watch }) {
    const storage = new MemoryStorage()
    const [name, id] = ['n'.repeat(256), 'i'.repeat(512)]
    const queue = new Queue<number>({ storage, name, workerId: 'w'.repeat(256) })
    queue.execute(() => {
      throw new Error('e'.repeat(2_000))
    })
    await queue.start()
    await queue.enqueueAndWait(id, 1, { group: 'g'.repeat(512), maxAttempts: 1 }).catch(() => {})
    await queue.schedules.put('s'.repeat(200), { everyMs: 3_600_000, payload: 1 })
    const admin = createAdmin({ storage, by: 'b'.repeat(256) })
    await admin.pause({ face: 'queue', name })
    await admin.close()
    const served = await serve(storage)
    for (const viewport of [wide, narrow]) {
      const page = watch(await browser.newPage({ viewport }))
      const job = `/job?${new URLSearchParams({ face: 'queue', name, id })}`
      for (const path of ['/', '/jobs', job, '/types', '/schedules', '/workers', '/limits', '/audit', '/findings']) {
        await page.goto(`${served.url}${path}`)
        await page.waitForSelector('.panel, .finding, .empty')
        await checkWidth(page, `${path.slice(0, 20)} at ${viewport.width}`)
      }
      await page.close()
    }
    await served.close()
    await queue.stop({ graceMs: 0 })
  },

  async 'a click on the histogram narrows the list to that time, and a chip takes it back'({ browser, watch }) {
    const storage = new MemoryStorage()
    await addJobs(storage, 'mail', ['early-1', 'early-2'])
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    await addJobs(storage, 'post', ['late'])
    const served = await serve(storage)
    const page = watch(await browser.newPage({ viewport: wide }))
    await page.goto(`${served.url}/jobs`)
    const area = page.locator('.histogram-area')
    await area.waitFor()
    const box = (await area.boundingBox())!
    await page.mouse.click(box.x + 4, box.y + 10)
    await page.waitForURL(/created/)
    await page.getByText('late', { exact: true }).waitFor({ state: 'detached' })
    await page.getByText('early-2').waitFor()
    await page.getByRole('button', { name: /Remove the condition created>=/ }).click()
    await page.getByRole('button', { name: /Remove the condition created</ }).click()
    await page.getByText('late', { exact: true }).waitFor()
    // By the keyboard.
    await area.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByText('early-2').waitFor({ state: 'detached' })
    await page.getByText('late', { exact: true }).waitFor()
    await page.close()
    await served.close()
  },
}
