// What is in the tarballs: the pages that a registry shows, and no file that leads nowhere.

import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageNames, readManifest } from './entry-points.ts'
import type { Project } from './project.ts'
import { type Step, StepFailure } from './step.ts'

/** Used in this repository only. It names a source file, which is not packed. */
const developmentCondition = '@holdfast/source'

export const contentSteps: Step[] = packageNames.map((name) => ({
  name: `contents: ${name}`,
  project: 'packages',
  run: (project) => checkContents(project, name),
}))

async function checkContents(project: Project, name: string): Promise<void> {
  const root = join(project.folder, 'node_modules', name)
  const { exports, bin = {} } = await readManifest(project, name)
  const named = Object.values(exports).flatMap((conditions) =>
    Object.entries(conditions).flatMap(([condition, path]) => (condition === developmentCondition ? [] : path)),
  )
  const missing = ['README.md', 'CHANGELOG.md', 'LICENSE', ...named, ...Object.values(bin)].filter(
    (path) => !existsSync(join(root, path)),
  )
  const files = globSync('**/*', { cwd: root, exclude: ['node_modules/**'] })
  const stray = files.filter((path) => /\.map$|(?<!\.d)\.ts$|\.test\.|\.tsbuildinfo$/.test(path))
  const mapped = files.filter(
    (path) => /\.(js|d\.ts)$/.test(path) && readFileSync(join(root, path), 'utf8').includes('# sourceMappingURL='),
  )
  const problems = [
    ...missing.map((path) => `${path} is missing`),
    ...stray.map((path) => `${path} should not be packed`),
    ...mapped.map((path) => `${path} names a source map`),
  ]
  if (problems.length > 0) throw new StepFailure(problems.map((problem) => `${name}: ${problem}`).join('\n'))
}
