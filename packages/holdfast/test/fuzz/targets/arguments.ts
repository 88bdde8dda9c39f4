import { commands } from '../../../src/cli/commands.ts'
import { parse } from '../../../src/cli/parse.ts'
import type { Target } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const words = [
  '--url',
  'sqlite:./jobs.db',
  '--type',
  'queue.mail',
  '--where',
  'a>=1',
  '--from',
  '2026-03-29T08:00:00Z',
  '--limit',
  '5',
  '--json',
  '--yes',
  '--delay',
  '10s',
  '--state',
  'failed',
  '-h',
  '--help',
  '--',
  '-',
  '--no-json',
  '--url=x',
  '--limit=-1',
  'queue.mail',
  'id-1',
]

/** Arguments of every command of the command line: parsed, or refused with a UsageError. */
export const commandArguments = (): Target => ({
  input: (random) => ({
    command: random.below(commands.length),
    args: Array.from({ length: random.below(7) }, () =>
      random.below(3) === 0 ? mutated(random, words) : random.pick(words),
    ),
  }),
  run(input) {
    const { command, args } = input as { command: number; args: string[] }
    const { options } = parse(commands[command]!, args)
    if (Object.getPrototypeOf(options) !== Object.prototype) throw new Error('the options have another prototype')
  },
})
