// Packs every package, installs the tarballs in fresh projects outside the repository, and uses them there as users do.
//
//   npm run check:packed                       every step: some minutes, most of them for installing
//   npm run check:packed -- --only bun         steps whose name contains the word; may be given several times
//   npm run check:packed -- --list             the names of the steps
//
// Other packages come from the registry of npm's configuration, in their newest version. Exit 0: every step passed. 1: a step
// failed; its output is printed, and the other steps still run. 2: wrong usage.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import fedify from '../packages/fedify/package.json' with { type: 'json' }
import { bundlerSteps } from './packed/bundlers.ts'
import { compilerSteps } from './packed/compiler.ts'
import { contentSteps } from './packed/contents.ts'
import { stopServers } from './packed/database-servers.ts'
import { packageNames } from './packed/entry-points.ts'
import { nodeSteps, oldestNodePackage, tooOldPackages } from './packed/node.ts'
import { runtimeSteps } from './packed/other-runtimes.ts'
import { createProject, type Project, type ProjectPlan } from './packed/project.ts'
import { type Step, StepFailure } from './packed/step.ts'
import { packAll, sizes } from './packed/tarballs.ts'
import { testRunnerSteps } from './packed/test-runners.ts'

const { '@fedify/fedify': fedifyVersion } = fedify.devDependencies
const rollupPlugins = ['commonjs', 'json', 'node-resolve'].map((name) => `@rollup/plugin-${name}`)

const plans: Readonly<Record<string, ProjectPlan>> = {
  plain: { packages: ['holdfast'], install: [oldestNodePackage] },
  // Fedify is a peer of ours. Its newest version need not be the one that @holdfast/fedify is tested with.
  packages: { packages: packageNames, install: [`@fedify/fedify@${fedifyVersion}`, ...tooOldPackages] },
  runtimes: { packages: ['holdfast'], install: ['bun', 'deno'] },
  runners: { packages: ['holdfast'], install: ['jest', 'vitest'] },
  compiler: { packages: ['holdfast'], install: ['typescript', '@types/node'] },
  bundlers: {
    packages: ['holdfast'],
    install: ['pg', 'ioredis', 'esbuild', 'webpack', 'webpack-cli', 'rollup', ...rollupPlugins, tooOldPackages[1]!],
  },
}

const allSteps: readonly Step[] = [
  ...contentSteps,
  ...nodeSteps,
  ...runtimeSteps,
  ...testRunnerSteps,
  ...compilerSteps,
  ...bundlerSteps,
]

/** Prints a line when the work has ended, with its time. @returns its result, or undefined if it failed */
async function timed<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
  const startedAt = performance.now()
  const line = (verdict: string) =>
    `${verdict.padEnd(6)} ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${name}`
  try {
    const result = await work()
    console.log(line('ok'))
    return result
  } catch (error) {
    console.log(line('FAILED'))
    const text = error instanceof StepFailure ? error.message : String((error as Error).stack)
    console.log(text.trim().replaceAll(/^/gm, '    '))
    return undefined
  }
}

/** @returns how many steps passed */
async function runSteps(steps: readonly Step[], folder: string): Promise<number> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const tarballs = await timed('pack every package', () => packAll(root, folder))
  if (!tarballs) return 0
  console.log(`                 ${await sizes(tarballs)}`)

  let passed = 0
  const projects = new Map<string, Project | undefined>()
  for (const { name, project: key, run } of steps) {
    if (!projects.has(key)) {
      const plan = plans[key]!
      const title = `npm install ${[...plan.packages, ...plan.install].join(' ')}`
      projects.set(key, await timed(title, () => createProject(folder, key, plan, tarballs)))
    }
    const project = projects.get(key)
    if (project && (await timed(name, async () => (await run(project), true)))) passed++
  }
  return passed
}

function readOptions(): { only: string[]; list: boolean } {
  try {
    const { only = [], list = false } = parseArgs({
      options: { only: { type: 'string', multiple: true }, list: { type: 'boolean' } },
    }).values
    return { only, list }
  } catch (error) {
    console.error(`${(error as Error).message}\nusage: npm run check:packed -- [--only <word>] [--list]`)
    process.exit(2)
  }
}

const { only, list } = readOptions()
const steps = allSteps.filter(({ name }) => only.length === 0 || only.some((word) => name.includes(word)))
if (steps.length === 0) {
  console.error(`--only: expected a word of a step's name, got ${only.map((word) => `"${word}"`).join(', ')}`)
  process.exit(2)
}
if (list) {
  for (const { name } of steps) console.log(name)
  process.exit(0)
}

const folder = await mkdtemp(join(tmpdir(), 'holdfast-packed-'))
const clean = async () => {
  await stopServers()
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void clean().finally(() => process.exit(1)))
}
try {
  const passed = await runSteps(steps, folder)
  console.log(`${passed} of ${steps.length} steps passed`)
  process.exitCode = passed === steps.length ? 0 : 1
} finally {
  await clean()
}
