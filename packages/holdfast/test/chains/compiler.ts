// Runs the compiler on a program of a few lines, inside the project, so that the package is found by its name.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../../', import.meta.url)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))

/** One checker: with several, each instantiates what it needs, and how they share the files is left to chance. */
const options = ['--project', '.', '--singleThreaded', '--pretty', 'false', '--extendedDiagnostics']

interface Compiled {
  readonly instantiations: number
  /** What was said about each line, from 1. */
  readonly errors: ReadonlyMap<number, string>
}

export async function compile(t: TestContext, name: string, program: string): Promise<Compiled> {
  const folder = new URL(`snippets.tmp/${process.pid}-${name}/`, root)
  await mkdir(folder, { recursive: true })
  t.after(() => rm(folder, { recursive: true }))
  const config = { extends: '../../tsconfig.base.json', compilerOptions: { noEmit: true }, files: ['program.ts'] }
  await writeFile(new URL('tsconfig.json', folder), JSON.stringify(config))
  await writeFile(new URL('program.ts', folder), program)
  const output = await outputOf(folder)
  const count = /^Instantiations:\s+(\d+)$/m.exec(output)?.[1]
  assert.ok(count, output)
  const errors = new Map<number, string>()
  for (const [, line, text] of output.matchAll(/^program\.ts\((\d+),\d+\): (error .*(?:\n {2}.*)*)/gm)) {
    errors.set(Number(line), `${errors.get(Number(line)) ?? ''}${text}\n`)
  }
  // None in the sources, where a message would be missed.
  assert.equal(output.match(/^\S+\(\d+,\d+\): error/gm)?.length ?? 0, output.match(/^program\.ts\(/gm)?.length ?? 0)
  return { instantiations: Number(count), errors }
}

function outputOf(cwd: URL): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [tsc, ...options], { cwd })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}
