// esbuild, webpack and rollup each bundle a program for Node.js, and the bundle runs.
//
// The project has pg and not postgres.js, ioredis and not iovalkey: a bundler must not ask for the client that is missing.

import { join } from 'node:path'
import { startedPostgres, startedRedis } from './database-servers.ts'
import { checkRefusal, nodeOf } from './node.ts'
import type { Project } from './project.ts'
import { type Step, StepFailure } from './step.ts'

interface Program {
  readonly drivers: readonly string[]
  readonly imports: string
  /** Expressions that make the storages. */
  readonly storages: readonly string[]
  /** The environment in which it runs. */
  env?(): Promise<Record<string, string>>
}

const programs: Readonly<Record<string, Program>> = {
  'memory, sqlite and file': {
    drivers: ['memory', 'sqlite', 'file'],
    imports: `
      import { SqliteStorage } from 'holdfast/sqlite'
      import { FileStorage } from 'holdfast/file'`,
    storages: [
      'new MemoryStorage()',
      `new SqliteStorage({ path: './jobs.db' })`,
      `new FileStorage({ directory: './jobs' })`,
    ],
  },
  'postgres with pg alone': {
    drivers: ['postgres'],
    imports: `import { PostgresStorage } from 'holdfast/postgres'`,
    storages: ['new PostgresStorage({ url: process.env.DATABASE_URL })'],
    env: async () => ({ DATABASE_URL: (await startedPostgres()).url }),
  },
  'redis with ioredis alone': {
    drivers: ['redis'],
    imports: `import { RedisStorage } from 'holdfast/redis'`,
    storages: ['new RedisStorage({ url: process.env.REDIS_URL })'],
    env: async () => ({ REDIS_URL: (await startedRedis()).url }),
  },
}

const source = ({ imports, storages }: Program): string => `
import { MemoryStorage, Queue } from 'holdfast'
${imports}

async function main() {
  for (const storage of [${storages.join(', ')}]) {
    const queue = new Queue({ storage })
    queue.execute(async (job) => job.payload + 1)
    await queue.start()
    console.log(storage.driver, await queue.enqueueAndWait('job', 1))
    await queue.stop()
  }
}
main()
`

interface Bundler {
  readonly args: readonly string[]
  /** Relative to the folder of the program, as is `main.mjs`. */
  readonly bundle: string
  readonly config?: Readonly<Record<string, string>>
}

const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: {
    args: ['main.mjs', '--bundle', '--platform=node', '--outfile=out/main.cjs'],
    bundle: 'out/main.cjs',
  },
  webpack: {
    args: [],
    bundle: 'out/main.cjs',
    config: {
      'webpack.config.cjs': `module.exports = {
        mode: 'production',
        target: 'node',
        entry: './main.mjs',
        output: { path: require('node:path').join(__dirname, 'out'), filename: 'main.cjs' },
      }`,
    },
  },
  rollup: {
    args: ['--config', 'rollup.config.mjs', '--failAfterWarnings'],
    bundle: 'out/main.mjs',
    config: {
      'rollup.config.mjs': `
        import commonjs from '@rollup/plugin-commonjs'
        import json from '@rollup/plugin-json'
        import resolve from '@rollup/plugin-node-resolve'
        export default {
          input: 'main.mjs',
          output: { dir: 'out', format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
          plugins: [resolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs(), json()],
        }`,
    },
  },
}

/** @returns the folder of the bundled program */
async function bundle(project: Project, name: string, program: Program): Promise<string> {
  const { args, config = {} } = bundlers[name]!
  const cwd = await project.files({ 'main.mjs': source(program), ...config })
  await project.run(name, [...args], { cwd })
  return cwd
}

const jobSteps = Object.keys(bundlers).flatMap((name) =>
  Object.entries(programs).map(([title, program]): Step => ({
    name: `${name}: ${title}`,
    project: 'bundlers',
    async run(project) {
      const cwd = await bundle(project, name, program)
      const env = await program.env?.()
      const output = await project.run(process.execPath, [bundlers[name]!.bundle], { cwd, env, timeoutMs: 60_000 })
      const missing = program.drivers.filter((driver) => !output.split('\n').includes(`${driver} 2`))
      if (missing.length > 0) throw new StepFailure(`no job ran on ${missing.join(', ')}:\n${output}`)
    },
  })),
)

/** Bundlers drop modules that they take for free of effects: the check must not be one. */
const refusalSteps = Object.keys(bundlers).map((name): Step => ({
  name: `${name}: the bundle says which Node.js it needs`,
  project: 'bundlers',
  async run(project) {
    const [program] = Object.values(programs)
    const cwd = await bundle(project, name, program!)
    const file = join(cwd, bundlers[name]!.bundle)
    checkRefusal(await project.run(nodeOf(project, '20'), [file], { cwd, fails: true }), name)
  },
}))

export const bundlerSteps: Step[] = [...jobSteps, ...refusalSteps]
