// Checks that imports in packages/holdfast/src go one way: entry points → faces → engine → storage → rules → base.
//
//   node scripts/import-direction.ts           exit 0: clean; 1: each import against the direction, one per line
//
// `npm run lint` runs it. A face never imports another face, the engine imports no face, a driver imports neither the engine
// nor another driver.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const base = [
  'count-text',
  'node-version',
  'errors',
  'error-details',
  'hash-of',
  'clock',
  'copy-option',
  'option-checks',
  'resolve-options',
  'option-suggestions',
  'version',
]
const faces = ['queue', 'chains', 'tasks']
const drivers = ['memory', 'file', 'sqlite', 'postgres', 'redis']

/** What the files of each part may import besides their own part. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  'storage/rules': ['base', 'storage/contract'],
  // Column layouts that the SQL drivers share.
  'storage/rows': ['base', 'storage/contract', 'storage/rules'],
  // storage.ts, kv.ts and what every driver uses.
  'storage/contract': ['base', 'storage/rules'],
  ...Object.fromEntries(
    drivers.map((name) => [`storage/${name}`, ['base', 'storage/contract', 'storage/rules', 'storage/rows']]),
  ),
  engine: ['base', 'storage/contract', 'storage/rules'],
  ...Object.fromEntries(faces.map((name) => [name, ['base', 'storage/contract', 'storage/rules', 'engine']])),
  admin: ['base', 'storage/contract', 'storage/rules', 'engine'],
  testing: ['base', 'storage/contract', 'engine'],
  telemetry: ['base', 'engine', 'admin', 'storage/contract', ...faces],
  // `holdfast enqueue` adds jobs as a Queue does.
  cli: [
    'base',
    'engine',
    'admin',
    'queue',
    'storage/contract',
    'storage/rules',
    ...drivers.map((name) => `storage/${name}`),
  ],
  // defineConfig() is the command line's.
  entry: ['base', 'engine', 'admin', 'cli', ...faces, 'storage/contract', 'storage/memory'],
}

/** Imports that stand although they go against the table, each with its reason. */
const exceptions = new Map([
  // The file driver keeps its replica in the memory driver's structures.
  ['storage/file', ['storage/memory']],
])

function partOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  if (first === 'storage') return path.split('/').length > 2 ? `storage/${second}` : 'storage/contract'
  if (!path.includes('/')) return base.includes(first.replace(/\.ts$/, '')) ? 'base' : 'entry'
  return first
}

/** Every import of a source text: static, dynamic and re-exports. */
function importsOf(source: string): string[] {
  return [...source.matchAll(/(?:from|import\(|import)\s*'(\.[^']+)'/g)].map(([, path]) => path!)
}

/** @returns a line for each import against the direction */
export function violations(root: string): string[] {
  const found: string[] = []
  for (const file of globSync('**/*.ts', { cwd: root }).toSorted()) {
    const part = partOf(file)
    const may = allowed[part]
    if (!may) {
      found.push(`${file}: the folder '${part}' has no row in scripts/import-direction.ts`)
      continue
    }
    for (const path of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const target = partOf(relative(root, join(root, dirname(file), path)))
      const isFine = target === part || may.includes(target) || exceptions.get(part)?.includes(target)
      if (!isFine) found.push(`${file}: ${part} may not import ${target} (${path})`)
    }
  }
  return found
}

if (import.meta.main) {
  const found = violations(fileURLToPath(new URL('../packages/holdfast/src', import.meta.url)))
  for (const line of found) console.error(line)
  process.exit(found.length === 0 ? 0 : 1)
}
