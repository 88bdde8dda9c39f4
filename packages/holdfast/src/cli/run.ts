// Runs one command line: finds the command, parses its arguments, and turns what it throws into an exit code.

import { asError } from '../error-details.ts'
import { isHoldfastError } from '../errors.ts'
import { version } from '../version.ts'
import type { AnyCommand, Context } from './command.ts'
import { commandGroups, commands } from './commands.ts'
import { helpOf, overview, usageOf } from './help.ts'
import type { Host } from './host.ts'
import { Output, toJson } from './output.ts'
import { type Parsed, parse } from './parse.ts'
import { Session, type SessionOptions } from './session.ts'
import { escaped } from './text.ts'
import { unknownWord, UsageError } from './usage-error.ts'

/** @param args without the names of Node.js and of the program @returns the exit code: 0 done, 1 failed, 2 wrong use */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [name, ...rest] = args
  const out = new Output(host, {})
  if (name === undefined) {
    writeLines(host, `holdfast: no command is given.\n\n${overview(commandGroups)}`)
    return 2
  }
  if (name === '--help' || name === '-h' || name === 'help') return help(rest, host, out)
  if (name === '--version') {
    out.line(version)
    return 0
  }
  const command = find(name)
  if (!command) return refuse(host, 'holdfast', unknownCommand(name), 'Run holdfast --help for the commands.', rest)
  let parsed: Parsed
  try {
    parsed = parse(command, rest)
  } catch (error) {
    return fail(host, command, error, rest.includes('--json'))
  }
  if (parsed.options.help) {
    out.lines(helpOf(command))
    return 0
  }
  return runCommand(command, parsed, host)
}

const find = (name: string): AnyCommand | undefined =>
  commands.find((command) => command.name === name || command.aliases?.includes(name))

const unknownCommand = (name: string): UsageError =>
  unknownWord(
    'command',
    name,
    commands.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
  )

/** `holdfast help jobs` is the help of jobs. */
function help([name]: readonly string[], host: Host, out: Output): number {
  const command = name === undefined ? undefined : find(name)
  if (name !== undefined && !command) return refuse(host, 'holdfast', unknownCommand(name), '', [])
  out.lines(command ? helpOf(command) : overview(commandGroups))
  return 0
}

async function runCommand(command: AnyCommand, { args, options }: Parsed, host: Host): Promise<number> {
  const session = new Session(host, options as SessionOptions, command.createsStorage === true)
  const context: Context = {
    args: args as Context['args'],
    options: options as Context['options'],
    out: new Output(host, options),
    host,
    admin: () => session.admin(),
    storage: () => session.storage(),
    config: () => session.config(),
  }
  try {
    return await command.run(context as never)
  } catch (error) {
    return fail(host, command, error, options.json === true)
  } finally {
    await session.close()
  }
}

const hintOf = (command: AnyCommand): string =>
  `Usage: ${usageOf(command)}\nRun holdfast ${command.name} --help for its options, with examples.`

function fail(host: Host, command: AnyCommand, thrown: unknown, isJson: boolean): number {
  const error = asError(thrown)
  const name = `holdfast ${command.name}`
  if (error instanceof UsageError) return refuse(host, name, error, hintOf(command), isJson ? ['--json'] : [])
  const { code } = error as { readonly code?: unknown }
  // The arguments of a command become those of a call, which may refuse them.
  if (code === 'INVALID_ARGUMENT') return refuse(host, name, error, '', isJson ? ['--json'] : [])
  if (isJson) host.writeError(`${toJson({ error: { code: String(code ?? 'FAILED'), message: error.message } }, 0)}\n`)
  // An error that is none of Holdfast's is a defect: its stack says where.
  else if (!isHoldfastError(thrown) && code === undefined) writeLines(host, `${name}: ${error.stack ?? error.message}`)
  else writeLines(host, `${name}: ${error.message}`)
  return 1
}

function refuse(host: Host, name: string, error: Error, hint: string, rest: readonly string[]): number {
  const usage = 'USAGE'
  if (rest.includes('--json')) host.writeError(`${toJson({ error: { code: usage, message: error.message } }, 0)}\n`)
  else writeLines(host, [`${name}: ${error.message}`, ...(hint === '' ? [] : [hint])].join('\n'))
  return 2
}

function writeLines(host: Host, text: string): void {
  for (const line of text.split('\n')) host.writeError(`${escaped(line)}\n`)
}
