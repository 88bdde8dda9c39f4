// The pages of the command line are what the declarations say, and the first example of every command runs.

import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { renderPages } from '../../../../scripts/cli-page/render.ts'
import { commands } from '../../src/cli/commands.ts'
import { until } from '../queue/driver.ts'
import { workingConfig } from './config-folder.ts'
import { cli, placeWith, start } from './test-host.ts'

const docs = new URL('../../../../docs/', import.meta.url)

test('docs/cli.md and the pages of docs/cli/ are what the declarations say, and there is no other page', async () => {
  const pages = renderPages()
  for (const [path, text] of pages) assert.equal(await readFile(new URL(path, docs), 'utf8'), text, path)
  const found = (await readdir(new URL('cli/', docs))).map((name) => `cli/${name}`)
  assert.deepEqual(
    found.filter((path) => !pages.has(path)),
    [],
  )
})

test('the page of a command is its --help', async () => {
  for (const { name } of commands) {
    const page = await readFile(new URL(`cli/${name}.md`, docs), 'utf8')
    assert.ok(page.includes((await cli([name, '--help'])).out.trimEnd()), name)
  }
})

/** Words of a command line, without its program; single quotes hold one together. */
const words = (line: string): string[] =>
  Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, word]) => quoted ?? word!).slice(1)

const from = (path: string): string => new URL(`../../src/${path}`, import.meta.url).href

test('the first example of every command runs', async (t) => {
  const { folder: cwd, holdfast, storage } = await placeWith(t, 'sqlite')
  const config = workingConfig
    .replace("'holdfast'", `'${from('index.ts')}'`)
    .replace("'holdfast/sqlite'", `'${from('storage/sqlite/index.ts')}'`)
  await writeFile(join(cwd, 'holdfast.config.ts'), config)
  for (const { name, examples } of commands) {
    const running = start(words(examples[0].line), { cwd })
    if (name === 'tail') {
      let added = 0
      await until(async () => {
        await holdfast(['enqueue', 'other', '--id', `o${++added}`])
        return running.out() !== ''
      })
    }
    if (name === 'work') {
      await until(() => running.out().split('ready').length === 3, 'ready twice')
      running.interrupt()
    }
    if (name === 'dashboard') {
      await until(() => running.out() !== '')
      running.interrupt()
    }
    const { code, out, errors } = await running.ended
    // Jobs of another type have no worker: doctor says so.
    assert.equal(code, name === 'doctor' ? 1 : 0, `${examples[0].line}\n${out}${errors}`)
    assert.notEqual(out, '', examples[0].line)
    // The next one finds the jobs at rest.
    await until(async () =>
      (await storage.count({ types: ['queue.mail'] })).types.every(({ due, states }) => due + states.processing === 0),
    )
  }
})
