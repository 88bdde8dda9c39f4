import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runExample } from '../example/main.ts'

test('the example: order holds through a refusal, and no message is lost with a killed worker', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-fedify-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const received = await runExample(join(directory, 'federation.db'))
  assert.deepEqual([...new Set(received)], ['Create /create-1', 'Delete /delete-1', 'Create /create-2'])
})
