// The programs that tests start as processes of their own, as bundles. To load the sources file by file takes a process 0.36 s of CPU,
// and a bundle of them 0.1 s; a test run starts several hundred. A run makes the bundles once, of the sources as they are;
// where there are none, as in a chaos run, the program is started from its source.

import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Environment variable with the folder of the bundles. Not set: programs are started from their sources. */
export const programsVariable = 'HOLDFAST_TEST_PROGRAMS'

/** A new one is a line here, and `programOf` where it is started. */
const programs: readonly string[] = [
  'chaos/chains/worker.ts',
  'chaos/federation/producer.ts',
  'chaos/federation/receiver.ts',
  'chaos/federation/worker.ts',
  'chaos/operator.ts',
  'chaos/producer.ts',
  'chaos/volume/peers/producer.ts',
  'chaos/volume/peers/worker.ts',
  'chaos/volume/producer.ts',
  'chaos/volume/worker.ts',
  'chaos/worker.ts',
  'examples/mailer/main.ts',
  'examples/orders-in-one-transaction/main.ts',
  'packages/fedify/test/worker.ts',
  'packages/holdfast/test/chains/fixtures/process.ts',
  'packages/holdfast/test/processes/leave-nothing-child.ts',
  'packages/holdfast/test/queue/fixtures/deduplicate.ts',
  'packages/holdfast/test/queue/fixtures/exit.ts',
  'packages/holdfast/test/queue/fixtures/process.ts',
  'packages/holdfast/test/storage/file/fixtures/claim-groups.ts',
  'packages/holdfast/test/storage/file/fixtures/enqueue.ts',
  'packages/holdfast/test/storage/postgres/process-exit-child.ts',
  'packages/holdfast/test/storage/redis/no-output-child.ts',
  'packages/holdfast/test/storage/sqlite/process.ts',
  'packages/holdfast/test/tasks/process.ts',
  'scripts/conformance.ts',
]
/** Folders of examples, each of which is a program. */
const examples = ['examples/chains/*.ts', 'examples/schedules/*.ts']

const root = fileURLToPath(new URL('../', import.meta.url))
/** Inside the project, so that a bundle finds the packages that it imports. Always the same, so that it is compiled once. */
export const programsFolder = join(root, 'node_modules/.cache/test-programs')
/** Ms after which a file that no bundle has any more is removed; a run that began before may still use it. */
const keptMs = 24 * 60 * 60 * 1_000

/** @returns the path to start: the bundle of the program, or its source if there is none */
export function programOf(source: URL): string {
  const path = fileURLToPath(source)
  const folder = process.env[programsVariable]
  if (folder === undefined) return path
  const bundle = join(folder, nameOf(relative(root, path)))
  return existsSync(bundle) ? bundle : path
}

const nameOf = (program: string): string => program.replace(/\.ts$/, '.mjs')

export async function buildPrograms(): Promise<void> {
  // Not imported above: the tests that import this file do not need it.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [...programs, ...globSync(examples, { cwd: root, exclude: ['**/*.test.ts'] })],
    outbase: '.',
    outdir: programsFolder,
    outExtension: { '.js': '.mjs' },
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    conditions: ['@holdfast/source'],
    // Names that errors and logs show, and imports for their effect alone.
    keepNames: true,
    ignoreAnnotations: true,
    logLevel: 'warning',
    // What is not of the project stays outside.
    plugins: [
      {
        name: 'packages',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === 'entry-point' || /^@?holdfast(\/|$)/.test(path) ? undefined : { external: true },
          ),
      },
    ],
  })
  for (const { path, contents } of outputFiles) put(path, contents)
  removeOld(new Set(outputFiles.map(({ path }) => path)))
}

/** By a rename: another run may read it. */
function put(path: string, content: Uint8Array): void {
  if (existsSync(path) && readFileSync(path).equals(content)) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}-${process.pid}`
  writeFileSync(draft, content)
  renameSync(draft, path)
}

function removeOld(current: ReadonlySet<string>): void {
  for (const name of readdirSync(programsFolder, { recursive: true, encoding: 'utf8' })) {
    const path = join(programsFolder, name)
    const stat = statSync(path)
    if (stat.isFile() && !current.has(path) && Date.now() - stat.mtimeMs > keptMs) rmSync(path, { force: true })
  }
}
