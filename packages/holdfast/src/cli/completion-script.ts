// Completion for the shells, from the declarations: commands, their options, and the words that arguments and options may be.

import { type AnyCommand, optionsOf } from './command.ts'

export const shells = ['bash', 'zsh', 'fish'] as const

export function completionScript(shell: (typeof shells)[number], commands: readonly AnyCommand[]): string {
  return { bash, zsh, fish }[shell](commands)
}

const namesOf = ({ name, aliases = [] }: AnyCommand): readonly string[] => [name, ...aliases]

const wordsOf = (command: AnyCommand): readonly string[] => [
  ...(command.arguments ?? []).flatMap(({ values = [] }) => values),
  ...Object.keys(optionsOf(command)).map((name) => `--${name}`),
]

/** The words of each option that has some, as the pattern and the words of a case. */
const valueCases = (commands: readonly AnyCommand[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    commands.flatMap((command) =>
      Object.entries(optionsOf(command)).flatMap(([name, { values }]) =>
        values ? [[`${command.name}:--${name}`, values] as const] : [],
      ),
    ),
  )

function bash(commands: readonly AnyCommand[]): string {
  const cases = commands.map((command) => `    ${namesOf(command).join('|')}) words='${wordsOf(command).join(' ')}' ;;`)
  const values = [...valueCases(commands)].map(([key, words]) => `    ${key}) words='${words.join(' ')}' ;;`)
  return `\
# bash completion of holdfast
_holdfast() {
  local words='' current="\${COMP_WORDS[COMP_CWORD]}" command="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${commands.flatMap(namesOf).join(' ')} --help --version'
  else
    case "$command" in
${cases.join('\n')}
    esac
    case "$command:\${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
    *:--config|*:--edit) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`
}

function zsh(commands: readonly AnyCommand[]): string {
  const listed = commands.flatMap((command) =>
    namesOf(command).map((name) => `    ${quoted(`${name}:${command.summary.replaceAll(':', '\\:')}`)}`),
  )
  const cases = commands.map(
    (command) => `    ${namesOf(command).join('|')}) compadd -- ${wordsOf(command).join(' ')} ;;`,
  )
  const values = [...valueCases(commands)].map(([key, words]) => `    ${key}) compadd -- ${words.join(' ')}; return ;;`)
  return `\
#compdef holdfast
_holdfast() {
  local -a commands=(
${listed.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "\${words[2]}:\${words[CURRENT-1]}" in
${values.join('\n')}
    *:--config|*:--edit) _files; return ;;
  esac
  case "\${words[2]}" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _holdfast ]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`
}

function fish(commands: readonly AnyCommand[]): string {
  const lines = commands.flatMap((command) => {
    const names = namesOf(command)
    const here = `-n '__fish_seen_subcommand_from ${names.join(' ')}'`
    const words = (command.arguments ?? []).flatMap(({ values = [] }) => values)
    return [
      ...names.map((name) => `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quoted(command.summary)}`),
      ...(words.length > 0 ? [`complete -c holdfast ${here} -a '${words.join(' ')}'`] : []),
      ...Object.entries(optionsOf(command)).map(([name, { kind, summary, short, values }]) =>
        [
          `complete -c holdfast ${here} -l ${name}`,
          ...(short ? [`-s ${short}`] : []),
          ...(kind === 'flag' ? [] : values ? [`-x -a '${values.join(' ')}'`] : ['-r']),
          `-d ${quoted(summary)}`,
        ].join(' '),
      ),
    ]
  })
  return ['# fish completion of holdfast', 'complete -c holdfast -f', ...lines, ''].join('\n')
}

/** In single quotes, for all three shells: fish has its own escape inside them, so a quote becomes a typographic one. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`
