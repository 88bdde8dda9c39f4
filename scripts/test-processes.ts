// Divides the test files of a run among processes. To load and warm up the sources takes a process longer than most files take to
// run, so small files share one: 35 files of the federation took 26 s of CPU one by one, and 15 s together.
//
// Each file becomes a suite of its own, so that its hooks are for its tests alone.

import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Folders whose files share a process, with those of the folders below. The first that fits counts. */
const shared: readonly string[] = [
  'chaos/',
  'packages/dashboard/test/',
  'packages/federation/test/security/',
  'packages/federation/test/',
  'packages/fedify/test/',
  'packages/holdfast/test/chains/',
  'packages/holdfast/test/engine/',
  'packages/holdfast/test/queue/',
  'packages/holdfast/test/storage/file/',
  'packages/holdfast/test/storage/postgres/',
  'packages/holdfast/test/storage/redis/',
  'packages/holdfast/test/storage/',
  'packages/holdfast/test/tasks/',
  'packages/holdfast/test/',
  'servers/',
]

/**
 * Files that keep a process of their own: they take long, and others can run beside them, or they change what a process has
 * once (environment variables, tracers, the garbage collector).
 */
const alone: readonly RegExp[] = [
  // The suites of one driver, and the conformance of all.
  /^packages.*\/(cluster|file|memory|postgres|postgres-clients|redis|sqlite|no-hints|places)\.test\.ts$/,
  /^packages\/holdfast\/test\/conformance\/(?!valkey)/,
  // Many processes, or many seconds.
  /\/(processes|connection-faults|docs|pages|package|end-to-end|fan-out|four-faces|drivers|example|mailer|law|browser)\.test\.ts$/,
  /^chaos\/(run|plant|chains|federation\/federation)\.test\.ts$/,
  /^packages\/holdfast\/test\/storage\/(file\/(faults|compact)|redis\/(cluster|search|reconnect|user-client)|postgres\/(connecting|lost-connections))\.test\.ts$/,
  // What a process has once.
  /\/(trace|tracing|env|growth|clocks|check-times\.clock)\.test\.ts$/,
]

/**
 * Those that run longest, the longest first, from 110 s to 13 s: what begins last should be short, or it runs alone in the end. Some use
 * little CPU: they wait for connections to be given up.
 */
const longest: readonly RegExp[] = [
  /^packages\/holdfast\/test\/conformance\/postgres\.test\.ts$/,
  /^packages\/holdfast\/test\/queue\/$/,
  /^packages\/dashboard\/test\/browser\/browser\.test\.ts$/,
  /^packages\/holdfast\/test\/storage\/(postgres\/|redis\/user-client\.test\.ts)$/,
  /^packages\/holdfast\/test\/queue\/postgres\.test\.ts$/,
  /^packages\/federation\/test\/$/,
  /^packages\/holdfast\/test\/queue\/(redis|sqlite)\.test\.ts$/,
  /^packages\/holdfast\/test\/(storage\/redis\/(reconnect|cluster)\.test\.ts)?$/,
  /^packages\/holdfast\/test\/(chains\/|storage\/|storage\/redis\/|queue\/memory\.test\.ts)$/,
  /^packages\/holdfast\/test\/(chains|tasks)\/postgres\.test\.ts$/,
  /^packages\/holdfast\/test\/conformance\/(postgres-clients|file|model)\.test\.ts$/,
  /^(chaos\/(run|federation\/federation)|packages\/fedify\/test\/end-to-end|packages\/holdfast\/test\/docs)\.test\.ts$/,
  /^packages\/holdfast\/test\/(tasks|queue|conformance)\/(redis|sqlite|file)\.test\.ts$/,
  /^packages\/holdfast\/test\/(storage\/postgres\/lost-connections|chains\/processes|queue\/processes)\.test\.ts$/,
  // 10 to 30 s of waiting.
  /^(packages\/holdfast\/test\/tasks\/|servers\/|examples\/(mailer\/mailer|federation-demo\/demo)\.test\.ts)$/,
  /^chaos\/plant\.test\.ts$/,
  /^packages\/holdfast\/test\/queue\/(postgres-clients|places)\.test\.ts$/,
  /^packages\/holdfast\/test\/(tasks\/memory|storage\/file\/(faults|processes))\.test\.ts$/,
]

const isAlone = (file: string): boolean => alone.some((pattern) => pattern.test(file))

/** @returns the files to run, each of which imports the files of a process; the runner sorts them by name */
export function processesOf(files: readonly string[], folder: string): string[] {
  const groups = Map.groupBy(files, (file) =>
    isAlone(file) ? file : (shared.find((place) => file.startsWith(place)) ?? file),
  )
  return [...groups].map(([place, members]) => {
    const found = longest.findIndex((pattern) => pattern.test(place))
    const rank = String(found === -1 ? longest.length : found).padStart(2, '0')
    const path = join(folder, `${rank}-${place.replaceAll('/', '-')}.mjs`)
    writeFileSync(path, members.length === 1 ? importOf(members[0]!) : suitesOf(members))
    return path
  })
}

const urlOf = (file: string): string => JSON.stringify(pathToFileURL(resolve(file)).href)

const importOf = (file: string): string => `import ${urlOf(file)}\n`

const suitesOf = (files: readonly string[]): string =>
  [
    "import { suite } from 'node:test'",
    ...files.map((file) => `suite(${JSON.stringify(file)}, async () => void (await import(${urlOf(file)})))`),
    '',
  ].join('\n')
