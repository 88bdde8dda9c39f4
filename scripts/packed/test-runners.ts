// Jest and Vitest each run a test with a job, on memory and on SQLite.

import { type Step, StepFailure } from './step.ts'

const testFile = `
import { MemoryStorage, Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'

for (const storage of [new MemoryStorage(), new SqliteStorage({ path: './jobs.db' })]) {
  test('a job runs on ' + storage.driver, async () => {
    const queue = new Queue({ storage })
    queue.execute(async (job) => job.payload + 1)
    await queue.start()
    expect(await queue.enqueueAndWait('job', 1)).toBe(2)
    await queue.stop()
  })
}
`

interface Runner {
  readonly args: readonly string[]
  readonly imports: string
  readonly env?: Readonly<Record<string, string>>
}

const runners: Readonly<Record<string, Runner>> = {
  vitest: { args: ['run'], imports: `import { expect, test } from 'vitest'` },
  // The flag that docs name: without it Jest loads no ES module.
  jest: { args: [], imports: '', env: { NODE_OPTIONS: '--experimental-vm-modules' } },
}

export const testRunnerSteps: Step[] = Object.entries(runners).map(([program, { args, imports, env = {} }]) => ({
  name: `${program}: a test with a job`,
  project: 'runners',
  async run(project) {
    const cwd = await project.files({ 'job.test.js': imports + testFile, 'package.json': '{ "type": "module" }' })
    const output = await project.run(program, [...args], { cwd, env })
    if (!/\b2 passed/.test(output)) throw new StepFailure(`expected two tests that pass, got:\n${output}`)
  },
}))
