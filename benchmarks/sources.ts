// Identifies the measured code. A run takes minutes, and rounds of two versions must not share a median.

import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** A hash of the Holdfast sources that a measurement loads. */
export function sourcesHash(): string {
  const folder = join(dirname(findPackageJSON('holdfast', import.meta.url)!), 'src')
  const files = globSync('**/*.ts', { cwd: folder, exclude: ['conformance/**', 'testing/**'] })
  const hash = createHash('sha256')
  for (const file of files.toSorted()) hash.update(`${file}\0`).update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 16)
}
