// Runs the examples: each is a program that ends by itself and prints what happened.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { programOf } from '../../scripts/test-programs.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** The lines that each must print; or a check of its lines, which are JSON. */
const expectedOutput: Record<string, readonly string[] | ((lines: readonly Record<string, unknown>[]) => void)> = {
  'rows-and-job': [
    'ada is welcome',
    'root: that name is taken',
    'grace is welcome',
    'in the table: ada, welcomed 1 time',
    'in the table: grace, welcomed 1 time',
    'chains: 2',
  ],
  'staged-payment': [
    'order-1 is on its way (receipt 4200)',
    'order-2 was too much for the bank',
    'order-1: paid',
    'order-2: refused',
    'the bank was asked 3 times and charged 1 time',
  ],
  'fan-in': [
    'at first the report is blocked',
    'In 2026, by quarter: 60, 150, 240, 330.',
    'month: 12, quarter: 4, template: 1, report: 1',
  ],
  webhook: [
    'the transfer is scheduled: it waits for the bank',
    'an unknown transfer: 404',
    'the bank calls: 200',
    '125 were transferred',
    'the bank calls again: 409',
  ],
  'scheduled-loop': [
    'started twice, one loop: true',
    'all is tidy',
    'round 1, attempt 1, after 0 min',
    'round 2, attempt 1, after 60 min',
    'round 2, attempt 2, after 61 min',
    'round 3, attempt 1, after 120 min',
    'round 4, attempt 1, after 180 min',
  ],
  tracing: [
    'shipped order-1',
    'POST /orders: child of none',
    'run mail: child of run order',
    'run order: child of POST /orders',
    'run ship: child of POST /orders',
    'traces: 1',
  ],
  'logging-with-pino': (lines) => checkLog(lines, { messageKey: 'msg', levels: { info: 30, warn: 40 } }),
  'logging-with-winston': (lines) => checkLog(lines, { messageKey: 'message', levels: { info: 'info', warn: 'warn' } }),
  'postgres-with-drizzle': ['shipped order-1', 'order-2: no credit', 'orders: 1, parcels: 1, chains: 1'],
  'postgres-with-kysely': ['shipped order-1', 'order-2: no credit', 'orders: 1, parcels: 1, chains: 1'],
}

test('every example has its test', () => {
  const files = globSync('*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'))
  assert.deepEqual(files.map((file) => file.replace(/\.ts$/, '')).toSorted(), Object.keys(expectedOutput).toSorted())
})

for (const [name, expected] of Object.entries(expectedOutput)) {
  test(`examples/chains/${name}.ts prints what it should`, async () => {
    const { code, output, errors } = await run(name)
    assert.equal(code, 0, output + errors)
    const lines = output.trimEnd().split('\n')
    if (typeof expected === 'function') expected(lines.map((line) => JSON.parse(line) as Record<string, unknown>))
    else assert.deepEqual(lines, expected)
  })
}

interface Library {
  readonly messageKey: string
  readonly levels: { readonly info: unknown; readonly warn: unknown }
}

/** The lines of Holdfast, and those of the handler, which name their attempt. */
function checkLog(lines: readonly Record<string, unknown>[], { messageKey, levels }: Library): void {
  const events = lines.flatMap(({ event }) => (event === undefined ? [] : [event]))
  assert.deepEqual(events, [
    'workerStarted',
    'jobChainCreated',
    'jobCreated',
    'jobAttemptStarted',
    'jobAttemptFailed',
    'jobAttemptStarted',
    'jobAttemptCompleted',
    'jobCompleted',
    'jobChainCompleted',
    'workerStopping',
    'workerStopped',
  ])
  const own = lines.filter(({ event }) => event === undefined)
  const jobId = lines.find(({ event }) => event === 'jobCreated')!.id
  const about = { typeName: 'greet', jobId, workerId: 'worker-1' }
  assert.partialDeepStrictEqual(own, [
    { ...about, attempt: 1, [messageKey]: 'failed', level: levels.warn },
    { ...about, attempt: 2, [messageKey]: 'thinking of something nice', level: levels.info },
    { ...about, attempt: 2, [messageKey]: 'committed', level: levels.info },
  ])
  const failed = lines.find(({ event }) => event === 'jobAttemptFailed')!
  assert.match(JSON.stringify(failed), /lost my voice/)
}

async function run(name: string): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(
    process.execPath,
    ['--conditions=@holdfast/source', programOf(new URL(`${name}.ts`, import.meta.url))],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output, errors }
}
