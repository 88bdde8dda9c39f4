// Bun and Deno run the README's first job as it is, in TypeScript, and import every entry point.

import { entryPoints } from './entry-points.ts'
import { checkOutput, firstJob } from './first-job.ts'
import type { Step } from './step.ts'

const runtimes = { bun: ['run'], deno: ['run', '--allow-all', '--node-modules-dir=manual'] }

export const runtimeSteps: Step[] = Object.entries(runtimes).flatMap(([program, args]) => [
  {
    name: `${program}: first job, first-job.ts`,
    project: 'runtimes',
    async run(project) {
      const job = await firstJob(project)
      const cwd = await project.files({ 'first-job.ts': job.typescript, 'package.json': '{ "type": "module" }' })
      checkOutput(await project.run(program, [...args, 'first-job.ts'], { cwd }), job)
    },
  },
  {
    name: `${program}: import of every entry point`,
    project: 'runtimes',
    async run(project) {
      const paths = await entryPoints(project, ['holdfast'])
      const cwd = await project.files({ 'all.mjs': paths.map((path) => `import ${JSON.stringify(path)}`).join('\n') })
      await project.run(program, [...args, 'all.mjs'], { cwd })
    },
  },
])
