// Writes screenshots of the dashboard:   npm run dashboard:shots [folder]
//
// They show a sample with live workers. Only the times in them differ from run to run.

import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../../../servers/find.ts'
import { buildApp } from '../../build/build-app.ts'
import { openBrowser, serve } from './browser.ts'
import { openSample } from './sample.ts'

interface Shot {
  readonly name: string
  readonly path: string
  readonly theme?: 'dark'
  readonly width?: number
  /** A key to press. */
  readonly press?: string
}

const failedJob = '/job?face=queue&name=mail&id=mail-6'
const shots: readonly Shot[] = [
  { name: 'overview', path: '/' },
  { name: 'overview-dark', path: '/', theme: 'dark' },
  { name: 'overview-narrow', path: '/', width: 390 },
  { name: 'jobs', path: '/jobs?q=state:failed,failing' },
  { name: 'jobs-narrow', path: '/jobs?q=state:failed', width: 390 },
  { name: 'job', path: failedJob },
  { name: 'job-dark', path: '/job?face=queue&name=thumbnails&id=anchor.jpg', theme: 'dark' },
  { name: 'schedules', path: '/schedules' },
  { name: 'workers', path: '/workers' },
  { name: 'limits', path: '/limits' },
  { name: 'findings', path: '/findings' },
  { name: 'audit', path: '/audit' },
  { name: 'chain', path: '/job?face=chain&name=ship&id=:order&tab=chain' },
  { name: 'chain-narrow', path: '/job?face=chain&name=ship&id=:order&tab=chain', width: 390 },
  { name: 'replay', path: failedJob, press: 'e' },
]

const folder = process.argv[2] ?? fileURLToPath(new URL('../../../../docs/dashboard/', import.meta.url))
const executable = findChromium()
if (!executable) {
  console.error('There is no chromium on the PATH. Install it, or set CHROMIUM to its path.')
  process.exit(1)
}
mkdirSync(folder, { recursive: true })
await buildApp()
const sample = await openSample()
const server = await serve(sample.storage)
const browser = await openBrowser(executable)
for (const { name, path, theme = 'light', width = 1_180, press } of shots) {
  const context = await browser.newContext({ viewport: { width, height: width < 600 ? 844 : 720 }, colorScheme: theme })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.error(`${name}: ${message.text()}`))
  page.on('pageerror', (error) => console.error(`${name}: ${error.message}`))
  await page.goto(`${server.url}${path.replace(':order', sample.orderId)}`)
  await page.waitForSelector('.foot .dot.open')
  await page.waitForSelector('.panel, .finding')
  if (press !== undefined) {
    await page.keyboard.press(press)
    await page.waitForSelector('dialog[open]')
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
