// The entry points of installed packages, by their package.json.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from './project.ts'

export const packageNames = [
  'holdfast',
  '@holdfast/conformance',
  '@holdfast/dashboard',
  '@holdfast/federation',
  '@holdfast/fedify',
]

export interface Manifest {
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly bin?: Readonly<Record<string, string>>
}

export const readManifest = async ({ folder }: Project, name: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as Manifest

/** 'holdfast', 'holdfast/sqlite', … */
export async function entryPoints(project: Project, names: readonly string[]): Promise<string[]> {
  const all = names.map(async (name) =>
    Object.keys((await readManifest(project, name)).exports).map((path) => join(name, path)),
  )
  return (await Promise.all(all)).flat()
}
