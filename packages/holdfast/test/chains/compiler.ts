// Runs the compiler on programs of a few lines, inside the project, so that the package is found by its name.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../../', import.meta.url)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))

/** One checker: with several, the number of instantiations depends on how they happen to share the files. */
const options = ['--project', '.', '--singleThreaded', '--pretty', 'false', '--extendedDiagnostics']

interface Compiled {
  readonly instantiations: number
  readonly errors: readonly CompileError[]
}

interface CompileError {
  /** Which of the programs, from 0. */
  readonly program: number
  /** From 1. */
  readonly line: number
  readonly text: string
}

/** All programs in one run, as independent modules. */
export async function compile(t: TestContext, name: string, ...programs: string[]): Promise<Compiled> {
  const folder = new URL(`snippets.tmp/${process.pid}-${name}/`, root)
  await mkdir(folder, { recursive: true })
  t.after(() => rm(folder, { recursive: true }))
  const files = programs.map((_, index) => `${index}.ts`)
  const config = { extends: '../../tsconfig.base.json', compilerOptions: { noEmit: true }, files }
  await writeFile(new URL('tsconfig.json', folder), JSON.stringify(config))
  await Promise.all(programs.map((program, index) => writeFile(new URL(files[index]!, folder), program)))
  const output = await outputOf(folder)
  const count = /^Instantiations:\s+(\d+)$/m.exec(output)?.[1]
  assert.ok(count, output)
  const errors = [...output.matchAll(/^(\d+)\.ts\((\d+),\d+\): (error .*(?:\n {2}.*)*)/gm)].map(
    ([, program, line, text]) => ({ program: Number(program), line: Number(line), text: text! }),
  )
  // Every error was parsed: none is in the sources or has another form.
  assert.equal(errors.length, output.match(/\berror TS\d+:/g)?.length ?? 0, output)
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
