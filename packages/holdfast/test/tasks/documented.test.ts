// The limits of deduplication are in the TSDoc, the page on tasks and the changelog.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { tasksOptions } from '../../src/tasks/options.ts'

const root = new URL('../../../../', import.meta.url)
const read = async (path: string): Promise<string> => {
  const text = await readFile(new URL(path, root), 'utf8')
  // As one line, without comment marks.
  return text.replaceAll(/^\s*\*/gm, ' ').replaceAll(/\s+/g, ' ')
}

const limits: readonly (readonly [letter: string, says: RegExp])[] = [
  ['a', /two writes.{0,20} a process that dies between them suppresses the key for the TTL/i],
  ['b', /a send that failed ambiguously gives the key back.{0,10} a duplicate is possible/i],
  ['c', /not truly atomic, two concurrent enqueuers can both (miss the key and both )?enqueue/],
  ['d', /`open`.{0,20} may mean no deduplication/],
  ['e', /it limits enqueues, not runs: delivery is at least once/i],
  ['f', /a foreign queue has its own scope and window, and need not keep order across retries/i],
]

for (const path of ['packages/holdfast/src/tasks/queue/message-queue.ts', 'docs/tasks.md', 'CHANGELOG.md']) {
  test(`[S6] ${path} has the limits of deduplication`, async () => {
    const text = await read(path)
    for (const [letter, says] of limits) assert.match(text, says, `(${letter})`)
    assert.match(text, /best effort/)
    assert.match(text, /`nativeDeduplication`/)
  })
}

test('[D1] the page has a first task in 15 lines, the drivers, the limitations, and the way from Fedify’s queues', async () => {
  const page = await readFile(new URL('docs/tasks.md', root), 'utf8')
  const [, first] = /## A first task\n\n```ts\n(.*?)```/s.exec(page)!
  // Without its imports and the blank line after them.
  const lines = first!.split('\n').filter((line) => line !== '' && !line.startsWith('import'))
  assert.ok(lines.length <= 15, `${lines.length} lines`)
  for (const heading of ['What a queue can do', 'Limitations', 'Fedify']) assert.ok(page.includes(`## ${heading}\n`))
  for (const driver of ['memory', 'SQLite', 'file', 'Postgres', 'Redis'])
    assert.match(page, new RegExp(`\\| ${driver} \\|`))
  assert.match(page, /Moving over from another queue of Fedify/)
  assert.equal(tasksOptions.taskDeduplicationTtl.default, 3_600_000, 'the page says 1 h')
})
