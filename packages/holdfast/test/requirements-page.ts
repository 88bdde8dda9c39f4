// The rows of docs/requirements.md, and every place that names one: cases by `proves`, tests by ids in brackets at the start
// of their names, lint rules by the id in their message.
//
// S, T, Q and D are letters of several faces. The page writes those of tasks and federation with the name of the face in
// front; files that belong to a face leave it out.

import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Requirement {
  readonly id: string
  /** One sentence: what holds. */
  readonly text: string
}

export interface Use {
  /** Relative to the root of the repository. */
  readonly file: string
  /** Of the case, the test, or the lint message. */
  readonly name: string
  /** As the page writes them. */
  readonly ids: readonly string[]
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (file: string): string => readFileSync(root + file, 'utf8')
const files = (...globs: string[]): string[] =>
  globSync(globs, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).toSorted()

const id = String.raw`(?:[A-Z]\d+(?:\.\d+)?|trap \d+|§\d+(?:\.\d+)?)`

/** The folders whose files leave out the name of their face. */
const faces: readonly (readonly [folder: string, face: string])[] = [
  ['packages/holdfast/test/queue/', 'queue'],
  ['packages/holdfast/test/tasks/', 'tasks'],
  ['packages/fedify/', 'tasks'],
  ['packages/federation/', 'federation'],
  ['chaos/federation/', 'federation'],
]

export function readRequirements(): readonly Requirement[] {
  const rows = read('docs/requirements.md').matchAll(/^\| `([^`|]+)` \| (.+) \|$/gm)
  return [...rows].map(([, name, text]) => ({ id: name!, text: text! }))
}

export function collectUses(): readonly Use[] {
  const known = readRequirements().map((row) => row.id)
  const uses = [
    ...files('packages/*/src/**/*.ts').flatMap(usesInCases),
    ...files('packages/*/test/**/*.ts', '{chaos,servers}/**/*.ts').flatMap(usesInTests),
    ...usesInLint('.oxlintrc.json'),
  ]
  return uses.map((use) => ({ ...use, ids: use.ids.map((name) => idOnPage(use.file, name, known)) }))
}

/** With the name of the face, if the page has ids of this face that begin as this one does. */
function idOnPage(file: string, name: string, known: readonly string[]): string {
  const face = faces.find(([folder]) => file.startsWith(folder))?.[1]
  const ofFace = `${face} ${name.replace(/[\d.]+$/, '')}`
  return known.some((other) => other.replace(/[\d.]+$/, '') === ofFace) ? `${face} ${name}` : name
}

function usesInCases(file: string): Use[] {
  // The name stands before the list; between them only `needs` and comments.
  const source = read(file)
  return [...source.matchAll(/proves: \[([^\]]*)\]/g)].map(({ index, 1: list }) => {
    const before = source.slice(0, index)
    const [, name = ''] = /name:\s*(['"`].*)[^]*$/.exec(before.slice(before.lastIndexOf('name:'))) ?? []
    return { file, name: name.replace(/,$/, '').slice(1, -1), ids: quoted(list!) }
  })
}

function usesInTests(file: string): Use[] {
  const source = read(file)
  // Every text that begins with an id in brackets, or with one that is filled in, is the name of a test.
  const start = String.raw`(?:\[(?:${id}|\$\{\w+\})\] ?)+`
  const names = source.matchAll(new RegExp(String.raw`(['"${'`'}])(${start})((?:\\.|(?!\1)[^\\])*)\1`, 'gs'))
  return [...names].map(([, , brackets, name]) => ({
    file,
    name: name!,
    ids: [...brackets!.matchAll(/\[([^\]]*)\]/g)].flatMap(([, inside]) =>
      // Filled in from a table: then all ids that the file has as texts of their own.
      inside!.startsWith('${') ? quoted(source).filter((text) => new RegExp(`^${id}$`).test(text)) : [inside!],
    ),
  }))
}

const usesInLint = (file: string): Use[] =>
  [...read(file).matchAll(/"message": "([^"]*\bR\d+\b[^"]*)"/g)].map(([, name]) => ({
    file,
    name: name!,
    ids: name!.match(/\bR\d+\b/g)!,
  }))

const quoted = (text: string): string[] => [...text.matchAll(/'([^'\n]*)'/g)].map(([, inside]) => inside!)
