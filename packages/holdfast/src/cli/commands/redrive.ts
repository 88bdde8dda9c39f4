import { resolve } from 'node:path'
import type { RedriveOptions } from '../../engine/operate/bulk.ts'
import { changeAll, changeOptions } from '../change-jobs.ts'
import { command } from '../command.ts'
import { importDefault } from '../import-file.ts'
import { UsageError } from '../usage-error.ts'

const { state: _, ...options } = changeOptions

export const redrive = command({
  name: 'redrive',
  summary: 'run all failed jobs that match again, also with other payloads',
  details: ['--edit names a module whose default export returns the new payload: (payload, job) => payload.'],
  options: { ...options, edit: { kind: 'text', placeholder: 'file', summary: 'module that changes the payloads' } },
  asks: true,
  examples: [
    { line: 'holdfast redrive --all --type mail --yes --url sqlite:./jobs.db', does: 'every failed job of a type' },
    { line: 'holdfast redrive --all --edit ./fix-address.ts --per-second 10', does: 'with changed payloads, slowly' },
  ],
  async run(context) {
    const { edit: file } = context.options
    const edit = file === undefined ? undefined : await editorOf(resolve(context.host.cwd, file))
    return changeAll(context, {
      verb: 'Redrive',
      takesNoIds: true,
      states: ['failed'],
      many: (admin, { states: __, ...filter }, how) => admin.redrive(filter, { ...how, edit }),
    })
  },
})

async function editorOf(path: string): Promise<NonNullable<RedriveOptions['edit']>> {
  const edit = await importDefault(path)
  if (typeof edit !== 'function') throw new UsageError(`--edit: ${path} has no default export that is a function.`)
  return edit as NonNullable<RedriveOptions['edit']>
}
