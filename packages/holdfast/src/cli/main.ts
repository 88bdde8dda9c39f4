#!/usr/bin/env node
// The command line: `npx holdfast migrate`, for deployments that create the schema before the app starts.

import '../node-version.ts'
import { parseArgs } from 'node:util'
import { isHoldfastError } from '../errors.ts'
import { postgresMigration } from './migrate.ts'

const help = `\
npx holdfast migrate [options]      creates or updates the tables in Postgres; PostgresStorage does so itself unless migrate: false

  --url <url>        postgres://user:password@host:5432/database      default: the environment variable DATABASE_URL
  --schema <name>    schema of the tables                             default: holdfast
  --plan             print the missing SQL without running it; without a url, all of it
  --help             print this text
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
    return refuse(`holdfast: ${(error as Error).message}`)
  }
  const { values, positionals } = parsed
  if (values.help) {
    console.log(help)
    return 0
  }
  if (positionals.length !== 1 || positionals[0] !== 'migrate')
    return refuse(`holdfast: ${given(positionals)}. The only command is migrate.`)
  const { url, schema, plan } = values
  if (url === undefined && !plan) return refuse('holdfast migrate: no url is given. Pass --url, or set DATABASE_URL.')
  try {
    for (const line of await postgresMigration({ url, schema, plan })) console.log(line)
    return 0
  } catch (error) {
    if (!isHoldfastError(error) && !(error instanceof TypeError)) throw error
    console.error(error.message)
    return 1
  }
}

function given(commands: readonly string[]): string {
  return commands.length === 0 ? 'no command is given' : `unknown command '${commands.join(' ')}'`
}

/** Prints the problem and the usage. Returns the exit code for wrong usage. */
function refuse(problem: string): number {
  console.error(`${problem}\n\n${help}`)
  return 2
}
