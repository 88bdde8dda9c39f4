// --help, from the declarations.

import {
  type AnyCommand,
  type ArgumentSpec,
  askOptions,
  commonOptions,
  type OptionSpec,
  storageOptions,
} from './command.ts'
import { kinds } from './values.ts'

const width = 80

/** The help of the whole. */
export function overview(
  groups: readonly { readonly title: string; readonly commands: readonly AnyCommand[] }[],
): string {
  const names = groups.flatMap(({ commands }) => commands.map(({ name }) => name))
  const left = Math.max(...names.map((name) => name.length))
  return [
    'Usage: holdfast <command> [options]',
    '',
    'Look at the jobs of a storage, change them, and run workers.',
    ...groups.flatMap(({ title, commands }) =>
      section(
        title,
        commands.map(({ name, summary }) => [name, summary]),
        left,
      ),
    ),
    '',
    'Options:',
    ...rows([
      ['holdfast <command> --help', 'arguments, options and examples of a command'],
      ['holdfast --version', 'the version'],
    ]),
    '',
    'Exit codes: 0 done, 1 failed, 2 wrong use.',
  ].join('\n')
}

export function helpOf(command: AnyCommand): string {
  const { summary, details = [], aliases = [], arguments: args = [], options = {}, usesStorage = true, asks } = command
  return [
    `Usage: ${usageOf(command)}`,
    '',
    ...wrapped(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`, width),
    ...details.flatMap((sentence) => wrapped(sentence, width)),
    ...(aliases.length > 0 ? [`Another name: ${aliases.join(', ')}.`] : []),
    ...section('Arguments', args.map(argumentRow)),
    ...section('Options', optionRows({ ...options, ...(asks && askOptions) })),
    ...section('Output', optionRows(commonOptions)),
    ...section('Storage', usesStorage ? optionRows(storageOptions) : []),
    '',
    'Examples:',
    ...command.examples.flatMap(({ line, does }) => [
      `  ${line}`,
      ...wrapped(does, width - 6).map((text) => `      ${text}`),
    ]),
  ].join('\n')
}

export function usageOf({ name, arguments: args = [] }: AnyCommand): string {
  const words = args.map((spec) => {
    const word = spec.values && spec.values.length <= 4 ? spec.values.join('|') : `<${spec.name}>`
    const repeated = spec.many ? `${word}…` : word
    return spec.optional ? `[${repeated}]` : repeated
  })
  return ['holdfast', name, ...words, '[options]'].join(' ')
}

const argumentRow = ({ name, summary, values }: ArgumentSpec): [string, string] => [
  name,
  values ? `${summary}: ${values.join(', ')}` : summary,
]

function optionRows(options: Readonly<Record<string, OptionSpec>>): [string, string][] {
  return Object.entries(options).map(([name, spec]) => {
    const short = spec.short ? `-${spec.short}, ` : ''
    const words = spec.values && !isShort(spec.values) ? ` (${spec.values.join(', ')})` : ''
    return [
      `${short}--${name}${placeholderOf(spec)}`,
      `${spec.summary}${words}${spec.repeat ? '; may be repeated' : ''}`,
    ]
  })
}

function placeholderOf({ kind, placeholder, values }: OptionSpec): string {
  if (kind === 'flag') return ''
  return ` <${placeholder ?? (values && isShort(values) ? values.join('|') : kinds[kind].placeholder)}>`
}

/** Whether the words fit into the placeholder. */
const isShort = (values: readonly string[]): boolean => values.join('|').length <= 14

const section = (title: string, content: readonly [string, string][], left?: number): string[] =>
  content.length === 0 ? [] : ['', `${title}:`, ...rows(content, left)]

/** Two columns; the second one is wrapped. @param width of the first one */
function rows(content: readonly (readonly [string, string])[], given?: number): string[] {
  const left = given ?? Math.min(28, Math.max(...content.map(([name]) => name.length)))
  return content.flatMap(([name, text]) => {
    const lines = wrapped(text, width - left - 4)
    const first = name.length > left ? [`  ${name}`] : []
    return [
      ...first,
      ...lines.map((line, index) => `  ${(index === 0 && first.length === 0 ? name : '').padEnd(left)}  ${line}`),
    ]
  })
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
