import type { Health } from '../../engine/health.ts'
import { asError } from '../../error-details.ts'
import { command } from '../command.ts'
import { resolveConfig } from '../config.ts'
import { UsageError } from '../usage-error.ts'

export const check = command({
  name: 'check',
  summary: 'check the configuration and its workers, without a connection',
  details: ['Exit code 1 if something is wrong with it, 2 if it cannot be loaded.'],
  createsStorage: true,
  examples: [
    { line: 'holdfast check', does: 'the holdfast.config.ts of this folder' },
    { line: 'holdfast check --config ./deploy/holdfast.config.ts --json', does: 'another file, for programs' },
  ],
  async run({ config, storage, options, out }) {
    const { driver } = await storage()
    const found = options.url === undefined ? await config() : undefined
    if (!found && options.url === undefined) throw new UsageError('there is no configuration file to check.')
    const workers = await Promise.all((found ? resolveConfig(found).workers : []).map(read))
    const problems = problemsOf(workers)
    const names = workers.map(({ name }) => name)
    if (out.isJson) out.json({ storage: driver, workers: names, problems })
    else {
      out.line(`storage  ${driver}`)
      for (const name of names) out.line(`worker   ${name}`)
      for (const problem of problems) out.line({ text: 'problem', style: 'red' }, `  ${problem}`)
      if (problems.length === 0) out.line('The configuration is fine.')
    }
    return problems.length === 0 ? 0 : 1
  },
})

/** From what a worker knows: this makes no call to the storage. */
async function read(worker: { health(): Health | Promise<Health> }): Promise<Pick<Health, 'name' | 'reasons'>> {
  try {
    return await worker.health()
  } catch (thrown) {
    return { name: 'a worker', reasons: [{ code: 'failed', sentence: asError(thrown).message }] }
  }
}

function problemsOf(workers: readonly Pick<Health, 'name' | 'reasons'>[]): string[] {
  const names = workers.map(({ name }) => name)
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
  const failing = workers.flatMap(({ name, reasons }) =>
    reasons.filter(({ code }) => code === 'failed').map(({ sentence }) => `${name}: ${sentence}`),
  )
  return [...twice.map((name) => `${name} is there twice: give it once, with a higher concurrency`), ...failing]
}
