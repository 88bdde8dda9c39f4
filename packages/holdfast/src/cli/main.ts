#!/usr/bin/env node
// The command line: `npx holdfast migrate`, for those whose deployments make the schema, and not the app.

import '../node-version.ts'
import { parseArgs } from 'node:util'
import { isHoldfastError } from '../errors.ts'
import { postgresMigration } from './migrate.ts'

const help = `\
npx holdfast migrate [options]      makes or updates the tables in Postgres; PostgresStorage does so itself unless migrate: false

  --url <url>        postgres://user:password@host:5432/database      default the environment's DATABASE_URL
  --schema <name>    where the tables are                             default holdfast
  --plan             print the SQL that is left to run, and run nothing; without a url, all of it
  --help
`

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let parsed
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string', default: process.env.DATABASE_URL },
        schema: { type: 'string', default: 'holdfast' },
        plan: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    return refuse((error as Error).message)
  }
  const { values, positionals } = parsed
  if (values.help) {
    console.log(help)
    return 0
  }
  if (positionals.length !== 1 || positionals[0] !== 'migrate') return refuse('expected the command migrate')
  const { url, schema, plan } = values
  if (url === undefined && !plan) return refuse('expected --url, or DATABASE_URL in the environment')
  try {
    for (const line of await postgresMigration({ url, schema, plan })) console.log(line)
    return 0
  } catch (error) {
    if (!isHoldfastError(error) && !(error instanceof TypeError)) throw error
    console.error(error.message)
    return 1
  }
}

function refuse(problem: string): number {
  console.error(`${problem}\n\n${help}`)
  return 2
}
