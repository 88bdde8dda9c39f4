// A project that `tsc --init` made compiles against the declarations.

import { firstJob } from './first-job.ts'
import type { Project } from './project.ts'
import type { Step } from './step.ts'

const fromEnvironment = `
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'

export const postgres = new PostgresStorage({ url: process.env.DATABASE_URL })
export const redis = new RedisStorage({ url: process.env.REDIS_URL })
`

const commonjs = `
import holdfast = require('holdfast')
export = new holdfast.Queue<string>({ storage: new holdfast.MemoryStorage() })
`

/** In a folder of its own, with the options that this version of TypeScript starts with. */
async function compile(project: Project, files: Record<string, string>, ...options: string[]): Promise<void> {
  const cwd = await project.files({ 'package.json': '{ "type": "module" }', ...files })
  await project.run('tsc', ['--init'], { cwd })
  await project.run('tsc', ['--noEmit', '--exactOptionalPropertyTypes', ...options], { cwd })
}

export const compilerSteps: Step[] = [
  {
    name: 'tsc --init: first job',
    project: 'compiler',
    run: async (project) => compile(project, { 'first-job.ts': (await firstJob(project)).typescript }),
  },
  {
    name: 'tsc --init: storages with a url from the environment',
    project: 'compiler',
    run: (project) => compile(project, { 'storages.ts': fromEnvironment }, '--types', 'node'),
  },
  {
    name: 'tsc --init: CommonJS, and declarations checked too',
    project: 'compiler',
    run: async (project) => {
      const files = { 'queue.cts': commonjs, 'first-job.ts': (await firstJob(project)).typescript }
      await compile(project, files, '--types', 'node', '--skipLibCheck', 'false')
    },
  },
]
