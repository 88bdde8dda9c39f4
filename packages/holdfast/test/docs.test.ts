// Every example in the docs runs as it is, every default in the guides is the one of options.ts, and every link of a page leads
// to a page and heading that exist. A block after a comment with the path of a file is that file, which has a test of its own.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../../../servers/postgres.ts'
import { startRedis } from '../../../servers/redis.ts'
import { leaseOptions, processingOptions, retryOptions, workerStopOptions } from '../src/chains/options.ts'
import { defaultRetention, queueOptions } from '../src/queue/options.ts'

const root = new URL('../../../', import.meta.url)
const runner = fileURLToPath(new URL('run-snippets.ts', import.meta.url))
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

const redis = await startRedis()
after(() => redis.stop())
const postgres = await startPostgres()
after(() => postgres.stop())

const pages = [
  'README.md',
  'packages/holdfast/README.md',
  'docs/README.md',
  'docs/choosing.md',
  'docs/coming-from.md',
  'docs/deploying.md',
  'docs/testing.md',
  'docs/schedules.md',
  'docs/prefetch.md',
  'docs/guide.md',
  'docs/drivers.md',
  'docs/file-storage.md',
  'docs/redis.md',
  'docs/postgres.md',
  'docs/errors.md',
  'docs/options.md',
  'docs/guarantees.md',
  'docs/chains/chains.md',
  'docs/chains/job-types.md',
  'docs/chains/starting.md',
  'docs/chains/blockers.md',
  'docs/chains/attempts.md',
  'docs/chains/leases-and-retries.md',
  'docs/chains/hints.md',
  'docs/chains/middlewares.md',
  'docs/chains/reading-and-changing.md',
  'docs/chains/stopping.md',
  'docs/chains/observing.md',
  'docs/tasks.md',
  'docs/operating.md',
  'docs/explain.md',
  'docs/doctor.md',
  'docs/cli.md',
  'docs/dashboard.md',
  'docs/telemetry.md',
  'docs/rate-limits.md',
]
/** A comment with the path of a file, and a block with its content. */
const fileBlock = /^<!-- (\S+) -->\n```\w+\n(.*?)^```\n/gms

/** Pages whose snippets share a process: to load the sources for each page would take longer than to run them. */
const pagesPerProcess = 6
const groups: PageGroup[] = []
// Before the first test, which needs the snippets of all pages of its group.
const texts = await Promise.all(pages.map(read))

for (const [number, page] of pages.entries()) {
  if (number % pagesPerProcess === 0) groups.push({ pages: [], snippets: [] })
  const group = groups.at(-1)!
  const whole = texts[number]!
  const files = [...whole.matchAll(fileBlock)]
  for (const [, path, code] of files) {
    test(`${page}: the block is ${path}`, async () => assert.equal(code, await read(path!)))
  }
  const text = whole.replaceAll(fileBlock, '')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!)
  const first = group.snippets.length
  group.pages.push(page)
  group.snippets.push(...snippets)
  snippets.forEach((_, index) => {
    test(`${page}: snippet ${index + 1} runs`, async () => {
      const { isDone, output } = await (group.running ??= runGroup(group))
      assert.ok(isDone[first + index], output)
    })
  })
  test(`${page} has snippets`, () => assert.ok(snippets.length > 0))
}

for (const group of groups) {
  test(`nothing that the snippets open keeps their process: ${group.pages.join(', ')}`, async () => {
    const { status, output } = await (group.running ??= runGroup(group))
    assert.equal(status, 0, output)
  })
}

test('[trap 51] the guide shows every default of a Queue, as options.ts has it, and no other option', async () => {
  const guide = await read('docs/guide.md')
  checkDefaults(guide, Object.fromEntries(Object.entries(queueOptions).filter(([, option]) => 'default' in option)))
  const [, table = ''] = guide.split('\n## Options\n')
  const names = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)
  assert.deepEqual(
    names.filter((name) => !Object.hasOwn(queueOptions, name)),
    [],
  )
})

test('[trap 51] the guide shows how long records are kept, as options.ts has it', async () => {
  const guide = await read('docs/guide.md')
  const unitMs = { hour: 3_600_000, day: 86_400_000 }
  for (const [end, ms] of Object.entries(defaultRetention)) {
    const row = new RegExp(`^\\| ${end.slice(0, -'Ms'.length)} \\| (\\d+) (hour|day)s? \\|$`, 'm').exec(guide)
    assert.ok(row, `there is no row for ${end}`)
    assert.equal(Number(row[1]) * unitMs[row[2] as 'hour' | 'day'], ms, end)
  }
})

const { pollIntervalMs, nextJobDelayMs } = processingOptions
const tables = {
  'docs/chains/leases-and-retries.md': { ...leaseOptions, ...retryOptions },
  'docs/chains/hints.md': { pollIntervalMs, nextJobDelayMs },
  'docs/chains/stopping.md': workerStopOptions,
}
for (const [page, options] of Object.entries(tables)) {
  test(`the defaults in ${page} are those of options.ts`, async () => checkDefaults(await read(page), options))
}

// The README of the repository links folders, too.
for (const page of pages.filter((name) => name !== 'README.md')) {
  test(`${page}: every link leads somewhere`, async () => {
    for (const [, path, anchor] of (await read(page)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = await readFile(new URL(path!, new URL(page, root)), 'utf8')
      if (anchor !== undefined) assert.ok(headings(target).includes(anchor), `${path}#${anchor}`)
    }
  })
}

/** As GitHub makes anchors of them. */
const headings = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

function checkDefaults(
  text: string,
  options: Readonly<Record<string, { readonly check: unknown; readonly default?: unknown }>>,
): void {
  for (const [name, option] of Object.entries(options)) {
    const row = new RegExp(`^\\| [^|]*\`${name}\`[^|]* \\| ([^|]*) \\|`, 'm').exec(text)
    assert.ok(row, `there is no row for ${name}`)
    if (!('default' in option)) continue
    const shown = typeof option.default === 'string' ? `\`'${option.default}'\`` : `\`${option.default}\``
    assert.equal(row[1], shown, name)
  }
}

interface PageGroup {
  readonly pages: string[]
  /** Those of all its pages. */
  readonly snippets: string[]
  running?: Promise<GroupRun>
}

interface GroupRun {
  /** By snippet: whether it came to its end. */
  readonly isDone: readonly boolean[]
  readonly status: number | null
  readonly output: string
}

async function runGroup({ pages: [page], snippets }: PageGroup): Promise<GroupRun> {
  // Inside the project, so that the package is found by its name.
  const folder = new URL(`snippets.tmp/${process.pid}-${page!.replaceAll('/', '-')}/`, root)
  const folders = snippets.map((_, index) => new URL(`${index}/`, folder))
  for (const [index, code] of snippets.entries()) {
    await mkdir(folders[index]!, { recursive: true })
    await writeFile(new URL('snippet.ts', folders[index]), code)
  }
  const { status, output } = await run(folders.map((one) => fileURLToPath(one)))
  const isDone = folders.map((one) => existsSync(new URL('done', one)))
  await rm(folder, { recursive: true })
  return { isDone, status, output }
}

function run(folders: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, REDIS_URL: redis.url, DATABASE_URL: postgres.url }
    const child = spawn(process.execPath, ['--conditions=@holdfast/source', runner, ...folders], { env })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('exit', (status) => resolve({ status, output }))
  })
}
