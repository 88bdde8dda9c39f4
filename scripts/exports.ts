// Prints how many names each entry point of each package exports, values and types apart.
//
//   npm run exports                 counts
//   npm run exports -- --names      counts and names
//
// A class counts as a value. The values are the keys of the imported module; the types are what the compiler exports besides.
// So a class behind `export type *` counts as a type, and no build is needed.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
// Unstable by name: the version of TypeScript is pinned, and this script is all that breaks.
import { API } from 'typescript/unstable/sync'

interface EntryPoint {
  /** As users import it: 'holdfast/sqlite'. */
  readonly name: string
  readonly source: string
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** Every entry point of the packages, from `exports` of their package.json. */
function entryPoints(): EntryPoint[] {
  return globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .flatMap((path) => {
      const { name, exports } = JSON.parse(readFileSync(join(root, path), 'utf8')) as {
        name: string
        exports: Record<string, Record<string, string>>
      }
      return Object.entries(exports).map(([subpath, conditions]) => ({
        name: join(name, subpath),
        source: join(root, path, '..', conditions['@holdfast/source']!),
      }))
    })
    .toSorted((a, b) => (rank(a.name) < rank(b.name) ? -1 : 1))
}

/** `holdfast` before its entry points, and both before the other packages. */
const rank = (name: string): string => name.replace('@', '~')

/** Every name that each module exports, types included. */
function exportedNames(sources: readonly string[]): string[][] {
  const api = new API({ cwd: root })
  try {
    // packages/fedify and packages/dashboard have globals of their own, and so projects of their own.
    const paths = ['tsconfig.json', 'packages/fedify/tsconfig.json', 'packages/dashboard/tsconfig.json']
    const openProjects = paths.map((path) => join(root, path))
    const projects = api.updateSnapshot({ openProjects }).getProjects()
    return sources.map((source) => {
      for (const { program, checker } of projects) {
        const file = program.getSourceFile(source)
        const symbol = file && checker.getSymbolAtLocation(file)
        if (symbol) return checker.getExportsOfModule(symbol).map(({ name }) => name)
      }
      throw new Error(`${source}: no tsconfig.json includes it`)
    })
  } finally {
    api.close()
  }
}

const { names: withNames } = parseArgs({ options: { names: { type: 'boolean', default: false } } }).values
const entries = entryPoints()
const exported = exportedNames(entries.map(({ source }) => source))
const width = Math.max(...entries.map(({ name }) => name.length))
const row = (name: string, ...cells: unknown[]): string =>
  [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(7))].join('')

console.log(row('', 'values', 'types', 'names'))
for (const [index, { name, source }] of entries.entries()) {
  const values = Object.keys((await import(source)) as object)
  const types = exported[index]!.filter((type) => !values.includes(type))
  console.log(row(name, values.length, types.length, values.length + types.length))
  if (!withNames) continue
  console.log(`    values: ${values.toSorted().join(', ') || 'none'}`)
  console.log(`    types: ${types.toSorted().join(', ') || 'none'}`)
}
