import { command, type Context } from '../command.ts'
import { isPostgres } from '../open-storage.ts'
import { postgresMigration } from '../postgres-migration.ts'
import { UsageError } from '../usage-error.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'create or update the tables of a storage',
  details: [
    'PostgresStorage does it itself unless migrate: false. SQLite and files are brought up to date when they are opened; Redis needs nothing.',
    'Without --url it takes HOLDFAST_URL, then DATABASE_URL.',
  ],
  options: { plan: { kind: 'flag', summary: 'print the missing SQL without running it; without a url, all of it' } },
  createsStorage: true,
  examples: [
    { line: 'holdfast migrate --plan', does: 'the SQL of a new schema' },
    { line: 'holdfast migrate --url postgres://localhost/app --schema jobs', does: 'runs the missing steps' },
  ],
  async run(context) {
    const { options, out, host } = context
    const { url: given, schema = 'holdfast', plan = false } = options
    const url = given ?? (host.env.HOLDFAST_URL || host.env.DATABASE_URL || undefined)
    if (url === undefined && options.config === undefined && plan) {
      return print(out, await postgresMigration({ url, schema, plan }))
    }
    if (url !== undefined && isPostgres(url.split(':', 1)[0]!)) {
      return print(out, await postgresMigration({ url, schema, plan }))
    }
    if (url === undefined && !(await context.config())) {
      throw new UsageError('no url is given. Pass --url, or set DATABASE_URL.')
    }
    const storage = await context.storage()
    if (plan) return print(out, [`-- ${storage.driver}: there is no plan; it is brought up to date when it is opened`])
    await storage.connect()
    await storage.disconnect()
    return print(out, [`${storage.driver} is up to date now`])
  },
})

function print(out: Context['out'], lines: readonly string[]): number {
  if (out.isJson) out.json({ lines })
  // Statements of several lines.
  else for (const text of lines) out.lines(text)
  return 0
}
