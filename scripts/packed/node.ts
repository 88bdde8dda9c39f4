// Node.js: the newest here, the oldest that is supported, and older ones, which get a sentence.

import { join } from 'node:path'
import { entryPoints, packageNames } from './entry-points.ts'
import { checkOutput, firstJob, type FirstJob } from './first-job.ts'
import type { Project } from './project.ts'
import { type Step, StepFailure } from './step.ts'

const oldest = '22.18.0'
const tooOld = ['18', '20', '22.17.1']

/** The package that has the binary of a version for this machine, installed under a name of its own. */
function nodePackage(version: string): string {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  return `node-${version}@npm:node-${platform}-${process.arch}@${version}`
}

export const oldestNodePackage = nodePackage(oldest)
export const tooOldPackages = tooOld.map(nodePackage)

export const nodeOf = ({ folder }: Project, version: string): string =>
  join(folder, 'node_modules', `node-${version}`, 'bin/node')

interface Variant {
  readonly file: string
  readonly source: Exclude<keyof FirstJob, 'prints'>
  readonly type: 'module' | 'commonjs' | undefined
}

const variants: readonly Variant[] = [
  { file: 'first-job.mjs', source: 'esm', type: undefined },
  { file: 'first-job.js', source: 'esm', type: 'module' },
  { file: 'first-job.mts', source: 'typescript', type: undefined },
  { file: 'first-job.ts', source: 'typescript', type: 'module' },
  { file: 'first-job.js', source: 'commonjs', type: 'commonjs' },
]

const supported: readonly (readonly [string, (project: Project) => string])[] = [
  [process.versions.node, () => process.execPath],
  [oldest, (project) => nodeOf(project, oldest)],
]

const firstJobSteps = supported.flatMap(([version, binary]) =>
  variants.map(({ file, source, type }): Step => {
    const kind = type ? ` with "type": "${type}"` : ''
    return {
      name: `node ${version}: first job, ${file}${kind}`,
      project: 'plain',
      async run(project) {
        const job = await firstJob(project)
        const cwd = await project.files({ [file]: job[source], 'package.json': JSON.stringify({ type }) })
        checkOutput(await project.run(binary(project), [file], { cwd }), job)
      },
    }
  }),
)

const everyEntryPoint = (call: string) => (paths: readonly string[]) =>
  paths.map(
    (path) => `if (Object.keys(${call}(${JSON.stringify(path)})).length === 0) throw Error(${JSON.stringify(path)})`,
  )

const loadingSteps: Step[] = supported.map(([version, binary]) => ({
  name: `node ${version}: import and require of every entry point`,
  project: 'plain',
  async run(project) {
    const paths = await entryPoints(project, ['holdfast'])
    const cwd = await project.files({
      'all.mjs': everyEntryPoint('await import')(paths).join('\n'),
      'all.cjs': everyEntryPoint('require')(paths).join('\n'),
    })
    for (const file of ['all.mjs', 'all.cjs']) await project.run(binary(project), [file], { cwd })
  },
}))

const commandStep: Step = {
  name: 'command line: npx holdfast migrate --plan',
  project: 'plain',
  async run(project) {
    const output = await project.run('npx', ['holdfast', 'migrate', '--plan'])
    if (!output.includes('CREATE TABLE')) throw new StepFailure(`expected SQL, got:\n${output}`)
  },
}

const tooOldSteps = tooOld.map((version): Step => ({
  name: `node ${version}: every entry point says which Node.js it needs`,
  project: 'packages',
  async run(project) {
    const paths = await entryPoints(project, packageNames)
    const cwd = await project.files({ 'imports.mjs': reportImports(paths) })
    const output = await project.run(nodeOf(project, version), ['imports.mjs'], { cwd })
    const lines = output.trim().split('\n')
    if (lines.length !== paths.length) throw new StepFailure(output)
    for (const line of lines) checkRefusal(line, 'import')

    const command = join(project.folder, 'node_modules/holdfast/dist/cli/main.js')
    checkRefusal(await project.run(nodeOf(project, version), [command], { fails: true }), 'npx holdfast')
  },
}))

/** A program that imports each path by itself, and prints a line with what it was told. */
const reportImports = (paths: readonly string[]): string => `
for (const path of ${JSON.stringify(paths)}) {
  await import(path).then(() => console.log(path, 'was imported'), (error) => console.log(path, String(error)))
}`

/** @throws StepFailure unless the output has the sentence about the version */
export function checkRefusal(output: string, what: string): void {
  if (/Error: Holdfast needs Node\.js 22\.18 or newer, this is \d+\.\d+\.\d+$/m.test(output)) return
  throw new StepFailure(`${what}: expected the sentence about the version of Node.js, got:\n${output}`)
}

export const nodeSteps: Step[] = [...firstJobSteps, ...loadingSteps, commandStep, ...tooOldSteps]
