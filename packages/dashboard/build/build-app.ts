// Bundles the app into dist/assets: one script and one style sheet, each with a hash of its content in its name, the licenses of what
// is bundled, and a manifest for the server.

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = new URL('../', import.meta.url)
const folder = new URL('dist/assets/', root)
/** Bytes of all assets after gzip. */
const budget = 150_000
const bundled = ['preact', '@preact/signals', '@preact/signals-core']

/** @returns bytes of all assets after gzip @throws Error above the budget */
export async function buildApp(): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: ['main.tsx', 'style.css'].map((name) => fileURLToPath(new URL(`src/app/${name}`, root))),
    outdir: fileURLToPath(folder),
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  let bytes = 0
  const put = (kind: string, content: Uint8Array): string => {
    const name = `app-${createHash('sha256').update(content).digest('hex').slice(0, 12)}.${kind}`
    writeFileSync(new URL(name, folder), content)
    bytes += gzipSync(content).length
    return name
  }
  const built = (kind: string): Uint8Array => outputFiles.find(({ path }) => path.endsWith(`.${kind}`))!.contents
  const manifest = {
    script: put('js', built('js')),
    style: put('css', built('css')),
    icon: put('svg', readFileSync(new URL('src/app/icon.svg', root))),
  }
  writeFileSync(new URL('LICENSES.txt', folder), licenses())
  // Last: a server that finds the manifest finds the files.
  writeFileSync(new URL('manifest.json', folder), `${JSON.stringify(manifest, null, 2)}\n`)
  if (bytes > budget) throw new Error(`The assets have ${bytes} bytes after gzip, above the budget of ${budget}.`)
  return bytes
}

function licenses(): string {
  return bundled
    .map((name) => {
      const license = readFileSync(new URL(`../../node_modules/${name}/LICENSE`, root), 'utf8')
      return `${name}\n\n${license.trim()}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}
