// Every action of the dashboard, as a person does it in the browser, on the sample. Each waits for what the page says about it.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

interface At {
  readonly page: Page
  /** Address of the dashboard. */
  readonly url: string
  /** Id of a job of chains that is blocked. */
  readonly orderId: string
}

const jobPath = (name: string, id: string): string => `/job?${new URLSearchParams({ face: 'queue', name, id })}`

async function go({ page, url }: At, path: string): Promise<void> {
  await page.goto(`${url}${path}`)
}

const press = (of: Page | Locator, name: string | RegExp): Promise<void> =>
  of.getByRole('button', { name, exact: true }).first().click()

/** Waits for the notice, and takes it away: the next one is another. */
async function told({ page }: At, text: string | RegExp): Promise<void> {
  const notice = page.locator('.notice', { hasText: text }).first()
  await notice.waitFor()
  await notice.getByRole('button').click()
}

export const actions: Readonly<Record<string, (at: At) => Promise<void>>> = {
  async 'retry a job'(at) {
    await go(at, jobPath('mail', 'mail-7'))
    await press(at.page, 'Retry')
    await told(at, 'mail-7: retried')
    // It fails again: the second run shows by itself.
    await at.page.waitForFunction(() => document.querySelector('.legend')?.textContent?.includes('run 2'))
  },
  async 'replay a job with an edited payload'(at) {
    await go(at, jobPath('mail', 'mail-6'))
    await press(at.page, 'Replay…')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByLabel('Payload, as JSON').fill('{"to":"edited@example.com","subject":"Edited"}')
    await press(dialog, 'Replay with this payload')
    await told(at, /^Replayed as /)
    await at.page.getByText('completed', { exact: true }).first().waitFor()
  },
  async 'run a waiting job now'(at) {
    await go(at, jobPath('invoices', 'invoice-1'))
    await press(at.page, 'Run now')
    await told(at, 'invoice-1: moved to its new time')
    await at.page.waitForFunction(() => document.querySelector('.legend')?.textContent?.includes('run 2'))
  },
  async 'run the waiting jobs that are selected now'(at) {
    await go(at, '/jobs?q=type:reports state:scheduled')
    await at.page.getByLabel('Select all jobs on this page').check()
    await press(at.page, 'Run now')
    await told(at, '2026-10: moved to its new time')
    await at.page.getByText('No job matches').waitFor()
  },
  async 'reschedule a waiting job'(at) {
    await go(at, jobPath('invoices', 'invoice-2'))
    await press(at.page, 'Reschedule…')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByLabel('Due at, in your time zone').fill('2096-05-04T03:02:01')
    await press(dialog, 'Reschedule')
    await told(at, 'invoice-2: moved to its new time')
    await at.page.getByText('2096-05-04').first().waitFor()
  },
  async 'cancel a waiting job'(at) {
    await go(at, jobPath('invoices', 'invoice-3'))
    await press(at.page, 'Cancel')
    await told(at, 'invoice-3: cancelled')
    await at.page.locator('.job-head .badge', { hasText: 'cancelled' }).waitFor()
  },
  async 'ask a running job to stop'(at) {
    await go(at, jobPath('thumbnails', 'harbour.jpg'))
    await press(at.page, 'Ask to stop')
    await told(at, 'harbour.jpg: asked to stop')
  },
  async 'remove an ended job'(at) {
    await go(at, jobPath('mail', 'mail-1'))
    await press(at.page, 'Remove')
    await press(at.page.getByRole('dialog'), 'Remove')
    await told(at, 'mail-1: removed')
  },
  async 'retry the jobs that are selected'(at) {
    await go(at, '/jobs?q=state:failed type:mail')
    await at.page.getByLabel('Select all jobs on this page').check()
    await press(at.page, 'Retry')
    await press(at.page.getByRole('dialog'), 'Retry')
    await told(at, /jobs: retried/)
  },
  async 'cancel all that match, with progress'(at) {
    await go(at, '/jobs?q=type:webhooks state:queued')
    await press(at.page, 'Cancel all…')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByText('5 jobs that match').waitFor()
    await press(dialog, 'Cancel them')
    await dialog.getByText('Done:').waitFor()
    assert.match(await dialog.innerText(), /5 changed/)
    await dialog.locator('.dialog-actions').getByRole('button', { name: 'Close' }).click()
    await at.page.getByText('No job matches').waitFor()
  },
  async 'remove and retry all that match'(at) {
    await go(at, '/jobs?q=type:webhooks')
    for (const word of ['Retry', 'Remove'] as const) {
      await press(at.page, `${word} all…`)
      const dialog = at.page.getByRole('dialog')
      await dialog.getByText(/jobs? that match|allows this/).waitFor()
      if (word === 'Retry') {
        await press(dialog, word)
        await dialog.getByText('Done:').waitFor()
      }
      await dialog.getByRole('button', { name: 'Close' }).first().click()
    }
  },
  async 'pause and resume a type'(at) {
    await go(at, '/')
    await press(at.page, 'Pause webhooks')
    await told(at, 'webhooks is paused')
    await press(at.page, 'Resume webhooks')
    await told(at, 'webhooks goes on')
  },
  async 'find a type, and add a job to it'(at) {
    await go(at, '/types')
    await at.page.getByLabel('Types whose name has').fill('mail')
    await at.page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await press(at.page, 'New job of mail')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByLabel('Payload, as JSON').fill('{"to": ')
    assert.equal(await dialog.getByRole('button', { name: 'Add the job' }).isDisabled(), true)
    await dialog.getByLabel('Id; empty').fill('by-hand')
    await dialog.getByLabel('Payload, as JSON').fill('{"to":"hand@example.com","subject":"By hand"}')
    await press(dialog, 'Add the job')
    await told(at, 'Added by-hand.')
    await at.page.getByText('completed', { exact: true }).first().waitFor()
  },
  async 'set and reset the limits of a group'(at) {
    await go(at, '/limits')
    await press(at.page, 'Set the limits of group globex of invoices')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByLabel('Jobs that run at a time').fill('2')
    await press(dialog, 'Set limits')
    await told(at, 'Limits of group globex of invoices are set')
    await press(at.page, 'Reset limits of group globex of invoices')
    await told(at, 'group globex of invoices has the limits of its code again')
  },
  async 'pause and resume a group'(at) {
    await go(at, '/limits')
    await press(at.page, 'Pause group acme of invoices')
    await told(at, 'group acme of invoices is paused')
    await press(at.page, 'Resume group acme of invoices')
    await told(at, 'group acme of invoices goes on')
  },
  async 'fire, pause, resume and change a schedule'(at) {
    await go(at, '/schedules')
    await press(at.page, 'Fire now: keep-alive')
    await told(at, 'keep-alive added the job')
    await press(at.page, 'Pause keep-alive')
    await told(at, 'keep-alive is paused')
    await press(at.page, 'Resume keep-alive')
    await told(at, 'keep-alive fires again')
    await press(at.page, 'Change when digest fires')
    const dialog = at.page.getByRole('dialog')
    await dialog.getByLabel('Cron expression').fill('99 * * * *')
    await at.page.waitForFunction(() => document.querySelector('#rule-problem')?.textContent !== '')
    await dialog.getByLabel('Cron expression').fill('15 7 * * *')
    await dialog.getByText('every day at 07:15').waitFor()
    await dialog.locator('.slots li', { hasText: '07:15:00' }).first().waitFor()
    await press(dialog, 'Set the rule')
    await told(at, 'digest fires by its new rule')
    await at.page.getByText('every day at 07:15').waitFor()
  },
  async 'cancel what waits of a chain'(at) {
    await go(at, `/job?face=chain&name=ship&id=${at.orderId}&tab=chain`)
    await press(at.page, 'Cancel what waits…')
    await press(at.page.getByRole('dialog'), 'Cancel them')
    await told(at, /cancelled/)
  },
  async 'see who did it in the audit log'(at) {
    await go(at, '/audit')
    for (const line of [
      "replayed job 'mail-6'",
      "moved 1 of 1 job ('invoice-2')",
      'cancel ended: 5 of 5',
      "added job 'by-hand'",
    ]) {
      await at.page.getByText(line).first().waitFor()
    }
  },
}
