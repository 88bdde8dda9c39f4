// The help of a program that documents itself in the comment at its top.

import { readFileSync } from 'node:fs'

/** With --help among the arguments: prints the comment at the top of the file and what follows, and ends the process. */
export function helpFromHeadComment(url: string, ...following: readonly string[]): void {
  if (!process.argv.slice(2).includes('--help')) return
  const lines = readFileSync(new URL(url), 'utf8').split('\n')
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('//')),
  )
  const text = head.map((line) => line.replace(/^\/\/ ?/, '')).join('\n')
  console.log([text, ...following].join('\n\n'))
  process.exit(0)
}
