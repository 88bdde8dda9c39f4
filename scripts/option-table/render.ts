// The page docs/options.md: every option of every face with its default and its aliases.

import { readFileSync } from 'node:fs'
import type { Row } from '../../packages/holdfast/src/resolve-options.ts'
import { chainSections } from './chains.ts'
import { federationSections } from './federation.ts'
import { type FieldDoc, fieldDocs } from './interface-docs.ts'
import { type Section, sections } from './sections.ts'
import { taskSections } from './tasks.ts'

const packages = new URL('../../packages/', import.meta.url)

const intro = `# Options

Every option with its default, its aliases and its meaning.

CONTENTS

- One word means one thing everywhere: \`maxAttempts\`, \`backoff\`, \`leaseMs\`, \`timeoutMs\`, \`pollMs\`, \`delayMs\`, \`runAt\`, \`retention\`, \`graceMs\`,
  \`logger\`. Times that end in \`Ms\` are in milliseconds.
- An alias is accepted in place of its word, never beside it.
- An unknown option, or a value outside its range, is refused with a \`TypeError\` (code \`INVALID_ARGUMENT\`), and nothing is written.

\`\`\`ts
import { MemoryStorage, Queue } from 'holdfast'

const storage = new MemoryStorage()
const one = new Queue({ storage, name: 'one', maxAttempts: 5, timeoutMs: 60_000 })
const same = new Queue({ storage, name: 'one', maxRetries: 5, visibilityTimeout: 60_000 }) // the aliases
console.log(one.name === same.name) // true
\`\`\`

\`npm run docs:options\` writes this page from the code; a test fails when the two differ.
`

export function renderPage(): string {
  const all = [...sections, ...chainSections, ...taskSections, ...federationSections]
  const faces = [...new Set(all.map((section) => section.face))]
  const contents = faces.map((name) => `[${name}](#${name.toLowerCase().replaceAll(' ', '-')})`)
  const parts = [intro.replace('CONTENTS', contents.join(' · '))]
  let face: string | undefined
  for (const section of all) {
    if (section.face !== face) parts.push(`## ${section.face}\n`)
    face = section.face
    parts.push(renderSection(section))
  }
  return parts.join('\n')
}

function renderSection({ title, table, types, sentences = {} }: Section): string {
  const docs = new Map(types.flatMap(docsOf).map((doc) => [doc.name, doc]))
  for (const [name, about] of Object.entries(sentences)) docs.set(name, { name, about, said: undefined })
  const aliases = aliasesOf(table)
  const lines = Object.entries(table)
    .filter(([, row]) => !('alias' in row))
    .map(([name, row]) => {
      const doc = docs.get(name)
      if (!doc) throw new Error(`${title}: ${name} has no TSDoc`)
      const others = (aliases.get(name) ?? []).map((alias) => `\`${alias}\`${unitOf(docs.get(alias))}`).join(', ')
      return `| \`${name}\` | ${defaultOf(row, doc)} | ${others} | ${cell(doc.about)} |`
    })
  return `### ${title}\n\n| option | default | alias | what it does |\n|---|---|---|---|\n${lines.join('\n')}\n`
}

function docsOf(type: string): FieldDoc[] {
  const [path, name] = type.split('#')
  return fieldDocs(readFileSync(new URL(path!, packages), 'utf8'), name!)
}

function aliasesOf(table: Section['table']): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const [name, row] of Object.entries(table)) {
    if (!('alias' in row)) continue
    for (const word of [row.alias].flat()) found.set(word, [...(found.get(word) ?? []), name])
  }
  return found
}

/** An alias in another unit says so. */
const unitOf = (doc: FieldDoc | undefined): string => (/\*\*seconds\*\*/.test(doc?.about ?? '') ? ' (seconds)' : '')

function defaultOf(row: Row, { said }: FieldDoc): string {
  if ('default' in row && row.default !== undefined) return `\`${literal(row.default)}\``
  return said === undefined ? '' : cell(said)
}

function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'number') return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, '_')
  return JSON.stringify(value)
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
