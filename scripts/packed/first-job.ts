// The first job of the README that is in the package, as a user would save it: TypeScript, ESM and CommonJS.

import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import type { Project } from './project.ts'
import { StepFailure } from './step.ts'

export interface FirstJob {
  readonly typescript: string
  readonly esm: string
  readonly commonjs: string
  /** What it prints, by the comment behind `console.log`. */
  readonly prints: string
}

export async function firstJob({ folder }: Project): Promise<FirstJob> {
  const readme = await readFile(join(folder, 'node_modules/holdfast/README.md'), 'utf8')
  const typescript = /^```ts\n(.*?)^```/ms.exec(readme)?.[1]
  const prints = typescript && /console\.log\(.*?\) \/\/ '(.*)'/.exec(typescript)?.[1]
  if (!typescript || !prints) throw new StepFailure('README.md: expected a first job that prints, found none')
  const esm = stripTypeScriptTypes(typescript)
  return { typescript, esm, commonjs: asCommonJs(esm), prints }
}

/** Imports become `require`, and the rest an async function: CommonJS has no top-level await. */
function asCommonJs(esm: string): string {
  const imports = [...esm.matchAll(/^import (\{.*?\}) from ('.*?')$/gm)]
  const requires = imports.map(([, names, path]) => `const ${names} = require(${path})`)
  return `${requires.join('\n')}\nasync function main() {${esm.replaceAll(/^import .*$/gm, '')}}\nmain()\n`
}

/** @throws StepFailure unless the output has the line that the README promises */
export function checkOutput(output: string, { prints }: FirstJob): void {
  if (!output.split('\n').includes(prints)) throw new StepFailure(`expected the line "${prints}", got:\n${output}`)
}
