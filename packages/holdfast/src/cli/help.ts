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
export function overview(commands: readonly AnyCommand[]): string {
  return [
    'holdfast <command> [options]: looks at jobs and changes them.',
    '',
    ...rows(commands.map(({ name, summary }) => [name, summary])),
    '',
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
    ...section('Options', optionRows({ ...options, ...(asks && askOptions), ...commonOptions })),
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
    const words = spec.values ? ` (${spec.values.join(', ')})` : ''
    return [
      `${short}--${name}${placeholderOf(spec)}`,
      `${spec.summary}${words}${spec.repeat ? '; may be repeated' : ''}`,
    ]
  })
}

function placeholderOf({ kind, placeholder }: OptionSpec): string {
  return kind === 'flag' ? '' : ` <${placeholder ?? kinds[kind].placeholder}>`
}

const section = (title: string, content: readonly [string, string][]): string[] =>
  content.length === 0 ? [] : ['', `${title}:`, ...rows(content)]

/** Two columns; the second one is wrapped. */
function rows(content: readonly (readonly [string, string])[]): string[] {
  const left = Math.min(28, Math.max(...content.map(([name]) => name.length)))
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
