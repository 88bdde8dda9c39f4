// Packs every package as `npm publish` would; their prepack scripts build them.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './command.ts'

/** @returns the path of each package's tarball by its name */
export async function packAll(root: string, folder: string): Promise<Map<string, string>> {
  const output = await runCommand('npm', ['pack', '--workspaces', `--pack-destination=${folder}`], { cwd: root })
  const packed = (await readdir(folder)).filter((file) => file.endsWith('.tgz'))
  const tarballs = new Map<string, string>()
  for (const file of packed) {
    // 'holdfast-fedify-0.1.0.tgz' is @holdfast/fedify, 'holdfast-0.1.0.tgz' is holdfast.
    const name = file.replace(/-\d+\.\d+\.\d+.*$/, '').replace(/^holdfast-/, '@holdfast/')
    tarballs.set(name, join(folder, file))
  }
  if (tarballs.size === 0) throw new Error(`npm pack made no tarball\n${output}`)
  return tarballs
}

/** 'holdfast 430 kB, @holdfast/fedify 5 kB' */
export async function sizes(tarballs: ReadonlyMap<string, string>): Promise<string> {
  const all = [...tarballs].map(async ([name, path]) => `${name} ${Math.round((await stat(path)).size / 1000)} kB`)
  return (await Promise.all(all)).join(', ')
}
