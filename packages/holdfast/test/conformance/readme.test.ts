// Every snippet of the conformance package's README runs as it is.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../../', import.meta.url)
const readme = await readFile(new URL('packages/conformance/README.md', root), 'utf8')
const snippets = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code!)

test('the README has a snippet for each suite', () => {
  for (const name of ['testStorage', 'testModel', 'testMessageQueue', 'testKvStore'])
    assert.ok(
      snippets.some((code) => code.includes(`await ${name}(`)),
      name,
    )
})

// Side by side: most of them wait in real time.
void suite('README of @holdfast/conformance', { concurrency: true }, () => {
  for (const [index, code] of snippets.entries()) {
    test(`snippet ${index + 1} runs`, async (t) => {
      // Inside the project, so that both packages are found by their names.
      const folder = new URL(`snippets.tmp/${process.pid}-conformance-${index}/`, root)
      await mkdir(folder, { recursive: true })
      t.after(() => rm(folder, { recursive: true }))
      await writeFile(new URL('snippet.mjs', folder), code)
      const { status, output } = await run('snippet.mjs', fileURLToPath(folder))
      assert.equal(status, 0, output.slice(-5_000))
    })
  }
})

function run(file: string, cwd: string): Promise<{ status: number; output: string }> {
  // As a user runs it: not as a part of this test run.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(process.execPath, ['--conditions=@holdfast/source', file], { cwd, env }, (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}
