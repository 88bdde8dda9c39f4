// Arguments of the command line, by the declaration of their command.

import { parseArgs } from 'node:util'
import { type AnyCommand, type OptionSpec, optionsOf } from './command.ts'
import { shortened, unknownWord, UsageError, wrongValue } from './usage-error.ts'
import { kinds } from './values.ts'

export interface Parsed {
  readonly args: Readonly<Record<string, unknown>>
  readonly options: Readonly<Record<string, unknown>>
}

/** @param args what follows the name of the command @throws UsageError */
export function parse(command: AnyCommand, args: readonly string[]): Parsed {
  const specs = optionsOf(command)
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(specs).map(([name, { kind, short }]) => [
        name,
        { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), ...(short && { short }) },
      ]),
    ),
  })
  const options = new Map<string, unknown>()
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name]! : undefined
    if (!spec) throw unknownOption(token.rawName, Object.keys(specs))
    setOption(options, token.name, spec, token.value)
  }
  const isHelp = options.get('help') === true
  return { args: isHelp ? {} : argumentsOf(command, words), options: Object.fromEntries(options) }
}

function unknownOption(rawName: string, known: readonly string[]): UsageError {
  return unknownWord(
    'option',
    rawName,
    known.map((name) => `--${name}`),
  )
}

function setOption(options: Map<string, unknown>, name: string, spec: OptionSpec, text: string | undefined): void {
  if (!spec.repeat && options.has(name)) throw new UsageError(`--${name} is given twice.`)
  if (spec.kind === 'flag') {
    if (text !== undefined) throw new UsageError(`--${name} takes no value, got '${shortened(text)}'.`)
    options.set(name, true)
    return
  }
  if (text === undefined || text === '') throw new UsageError(`--${name} needs a value.`)
  if (spec.values && !spec.values.includes(text)) throw wrongValue(`value of --${name}`, text, spec.values)
  const value = kinds[spec.kind].parse(name, text)
  options.set(name, spec.repeat ? [...((options.get(name) as unknown[] | undefined) ?? []), value] : value)
}

function argumentsOf({ arguments: specs = [] }: AnyCommand, words: readonly string[]): Record<string, unknown> {
  const args: Record<string, unknown> = {}
  const left = [...words]
  for (const { name, optional, many, values } of specs) {
    const given = many ? left.splice(0) : left.splice(0, 1)
    if (given.length === 0 && !optional) throw new UsageError(`<${name}> is missing.`)
    if (given.includes('')) throw new UsageError(`<${name}> is empty.`)
    if (values && given[0] !== undefined && !values.includes(given[0])) throw wrongValue(`<${name}>`, given[0], values)
    args[name] = many ? given : given[0]
  }
  if (left.length > 0) throw new UsageError(`unexpected argument '${shortened(left[0]!)}'.`)
  return args
}
