import { command, type Context } from '../command.ts'
import { openStorage } from '../open-storage.ts'
import { isPostgresStorage, migratePostgres, newSchema } from '../postgres-migration.ts'
import type { Storage } from '../../storage/storage.ts'
import { UsageError } from '../usage-error.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'create or update the tables of a storage',
  details: [
    'PostgresStorage does it itself unless migrate: false. SQLite and files are brought up to date when they are opened; Redis needs nothing.',
    'Without a url and a configuration it takes the database of DATABASE_URL.',
  ],
  options: {
    plan: { kind: 'flag', summary: 'print the missing SQL without running it; without a storage, all of it' },
  },
  createsStorage: true,
  examples: [
    { line: 'holdfast migrate --plan', does: 'the SQL of a new schema' },
    { line: 'holdfast migrate --url postgres://localhost/app --schema jobs', does: 'runs the missing steps' },
  ],
  async run(context) {
    const { options, out } = context
    const { schema, plan = false } = options
    const storage = await storageOf(context)
    if (!storage) {
      if (plan) return print(out, await newSchema(schema))
      throw new UsageError(
        `no storage is given. Pass --url, set HOLDFAST_URL or DATABASE_URL, or run it beside a holdfast.config.ts.`,
      )
    }
    if (isPostgresStorage(storage)) return print(out, await migratePostgres(storage, plan))
    if (plan) return print(out, [`-- ${storage.driver}: there is no plan; it is brought up to date when it is opened`])
    await storage.connect()
    await storage.disconnect()
    return print(out, [`${storage.driver} is up to date now`])
  },
})

/** That of the other commands, else the database of DATABASE_URL. */
async function storageOf({ options, config, storage, host }: Context): Promise<Storage | undefined> {
  const isNamed = options.url !== undefined || options.config !== undefined || Boolean(host.env.HOLDFAST_URL)
  if (isNamed || (await config())) return storage()
  const url = host.env.DATABASE_URL || undefined
  return url === undefined ? undefined : openStorage({ url, schema: options.schema, cwd: host.cwd, creates: true })
}

function print(out: Context['out'], lines: readonly string[]): number {
  if (out.isJson) out.json({ lines })
  // Statements of several lines.
  else for (const text of lines) out.lines(text)
  return 0
}
