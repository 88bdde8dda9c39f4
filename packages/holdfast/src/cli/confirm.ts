// The confirmation of a command that destroys something.

import type { Context } from './command.ts'
import { UsageError } from './usage-error.ts'

/**
 * Asks, unless --yes was given. @param question such as `Remove 3 jobs?`
 * @returns whether to go on @throws UsageError if there is no terminal to ask at
 */
export async function confirm({ options, host, out }: Pick<Context, 'options' | 'host' | 'out'>, question: string) {
  if (options.yes) return true
  if (!host.ask) throw new UsageError(`${question} There is no terminal to ask at: pass --yes to do it.`)
  const answer = await host.ask(`${question} [y/N] `)
  if (/^y(es)?$/i.test(answer.trim())) return true
  out.note('Nothing was changed.')
  return false
}
