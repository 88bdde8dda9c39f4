// Writes screenshots of the dashboard:   npm run dashboard:shots [folder] [--all]
//
// They show a sample with live workers. Only the times in them differ from run to run. With --all, every view is written in light, dark and
// 390 px: to look at after a change.

import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../../../servers/find.ts'
import { buildApp } from '../../build/build-app.ts'
import { openBrowser, serve } from './browser.ts'
import { samplePeers } from './sample-peers.ts'
import { openSample } from './sample.ts'

interface Shot {
  readonly name: string
  readonly path: string
  readonly theme?: 'dark'
  readonly width?: number
  /** A key to press, or the name of a button, that opens a dialogue. */
  readonly press?: string
  readonly button?: string
}

const failedJob = '/job?face=queue&name=mail&id=mail-6'
const chain = '/job?face=chain&name=ship&id=:order&tab=chain'
const views: readonly Shot[] = [
  { name: 'overview', path: '/' },
  { name: 'jobs', path: '/jobs?q=state:failed,failing' },
  { name: 'job', path: failedJob },
  { name: 'types', path: '/types' },
  { name: 'schedules', path: '/schedules' },
  { name: 'workers', path: '/workers' },
  { name: 'limits', path: '/limits' },
  { name: 'findings', path: '/findings' },
  { name: 'audit', path: '/audit' },
  { name: 'peers', path: '/peers' },
  { name: 'chain', path: chain },
  { name: 'replay', path: failedJob, press: 'e' },
]
/** Those of the documentation. */
const shown: readonly Shot[] = [
  ...views,
  { name: 'overview-dark', path: '/', theme: 'dark' },
  { name: 'overview-narrow', path: '/', width: 390 },
  { name: 'jobs-narrow', path: '/jobs?q=state:failed', width: 390 },
  { name: 'job-dark', path: '/job?face=queue&name=thumbnails&id=anchor.jpg', theme: 'dark' },
  { name: 'chain-narrow', path: chain, width: 390 },
]
const dialogs: readonly Shot[] = [
  { name: 'new-job', path: '/types', button: 'New job of mail' },
  { name: 'rule', path: '/schedules', button: 'Change when digest fires' },
  { name: 'reschedule', path: '/job?face=queue&name=invoices&id=invoice-1', button: 'Reschedule…' },
  { name: 'bulk', path: '/jobs?q=state:failed', button: 'Remove all…' },
  { name: 'running', path: '/job?face=queue&name=thumbnails&id=anchor.jpg&tab=log' },
  { name: 'nothing', path: '/jobs?q=type:none' },
  { name: 'wrong', path: '/jobs?q=state:broken' },
  { name: 'gone', path: '/job?face=queue&name=mail&id=gone' },
  { name: 'details', path: `${failedJob}&tab=details` },
  { name: 'attempts', path: `${failedJob}&tab=attempts` },
  { name: 'day', path: '/?range=24h' },
  { name: 'keyboard', path: '/', press: '?' },
]
const every: readonly Shot[] = [
  ...[...views, ...dialogs].flatMap((shot) => [
    shot,
    { ...shot, name: `${shot.name}-dark`, theme: 'dark' as const },
    { ...shot, name: `${shot.name}-narrow`, width: 390 },
  ]),
  { name: 'more-narrow', path: '/', width: 390, button: 'More' },
]

const isAll = process.argv.includes('--all')
const [given] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const folder = given ?? fileURLToPath(new URL('../../../../docs/dashboard/', import.meta.url))
const executable = findChromium()
if (!executable) {
  console.error('There is no chromium on the PATH. Install it, or set CHROMIUM to its path.')
  process.exit(1)
}
mkdirSync(folder, { recursive: true })
await buildApp()
const sample = await openSample()
const server = await serve(sample.storage, { peers: samplePeers })
const browser = await openBrowser(executable)
for (const { name, path, theme = 'light', width = 1_180, press, button } of isAll ? every : shown) {
  const context = await browser.newContext({ viewport: { width, height: width < 600 ? 844 : 720 }, colorScheme: theme })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.error(`${name}: ${message.text()}`))
  page.on('pageerror', (error) => console.error(`${name}: ${error.message}`))
  await page.goto(`${server.url}${path.replace(':order', sample.orderId)}`)
  await page.waitForSelector('.foot .dot.open')
  await page.waitForSelector('.panel, .finding, .empty, .problem')
  if (button !== undefined) await page.getByRole('button', { name: button, exact: true }).first().click()
  if (press !== undefined) await page.keyboard.press(press)
  // The one button without a dialogue opens the rest of the navigation.
  const opened = button === 'More' ? '.nav-more.open' : 'dialog[open]'
  if (button !== undefined || press !== undefined) await page.waitForSelector(opened)
  if (press === 'e') {
    const text = await page.inputValue('#replay-payload')
    await page.fill('#replay-payload', text.replace('ada@down.example', 'ada@example.com'))
  }
  if (path === '/') await page.waitForSelector('.chart')
  if (path.endsWith('chain')) await page.waitForSelector('.node')
  await page.screenshot({ path: `${folder}/${name}.png` })
  console.log(`${folder}/${name}.png`)
  await context.close()
}
await browser.close()
await server.close()
await sample.close()
