// Builds packages: JavaScript and declarations in `dist`, from the sources.
//
//   node ../../scripts/build.ts                    the package in this folder
//   node ../../scripts/build.ts ../holdfast .      several, in this order
//
// The compiler wraps the specifier of every `import(variable)` in a function of its own, for relative paths that end in `.ts`.
// Ours are names of packages. The function costs: webpack's minifier inlines it wrongly, so that the bundle fails at run time
// ("The second argument to import() must be an object"), and rollup warns of its `this`. So it is taken out again.

import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const wrapper = '__rewriteRelativeImportExtension'
const declaration = new RegExp(`^var ${wrapper} = .*?^};\n`, 'ms')
const call = new RegExp(`import\\(${wrapper}\\(([^()]*)\\)\\)`, 'g')

/** @throws if the compiler has written the wrapper in a way that is not known here */
function unwrapImports(file: string): void {
  const text = readFileSync(file, 'utf8')
  if (!text.includes(wrapper)) return
  const plain = text.replace(declaration, '').replaceAll(call, 'import($1)')
  if (plain.includes(wrapper)) throw new Error(`${file}: ${wrapper} is left after the build`)
  writeFileSync(file, plain)
}

const folders = process.argv.slice(2)
for (const folder of folders.length === 0 ? ['.'] : folders) {
  const dist = join(folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  const { status } = spawnSync('tsc', ['-p', join(folder, 'tsconfig.build.json')], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  for (const file of globSync(join(dist, '**/*.js'))) unwrapImports(file)
}
