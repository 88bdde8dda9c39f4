// The messages of the compiler: a mistake with job types that has a sentence of ours names the job type.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { compile } from './compiler.ts'

const head = `import { type Client, type DefinitionsOf, defineJobTypes, type InProcessWorkerOptions } from 'holdfast/chains'
const registry = defineJobTypes<{
  order: { entry: true; input: { id: string }; output: null; continueWith: { typeName: 'ship' | 'refund' } }
  ship: { input: null; continueWith: { typeName: 'refund' } }
  refund: { input: null; output: number }
  report: { entry: true; input: null; output: null; blockers: [{ typeName: 'order' }] }
}>()
type Types = DefinitionsOf<typeof registry>
declare const client: Client<Types>
declare const either: 'ship' | 'refund'
declare function work(processors: InProcessWorkerOptions<Types, never>['jobTypeProcessors']): void
`

/** A statement on one line, and the sentence that its error contains. */
const mistakes: readonly [statement: string, sentence: RegExp][] = [
  [
    'defineJobTypes<{ a: { input: void; output: null } }>()',
    /"job type 'a': input must not be void or undefined; write null"/,
  ],
  ['defineJobTypes<{ a: { output: null } }>()', /"job type 'a' has no input; write null if it needs none"/],
  [
    'defineJobTypes<{ a: { input: null; output: undefined } }>()',
    /"job type 'a': output must not be void or undefined; write null"/,
  ],
  [
    'defineJobTypes<{ a: { input: null } }>()',
    /"job type 'a' has neither output nor continueWith: no chain could end or go on there"/,
  ],
  [
    "defineJobTypes<{ a: { input: null; continueWith: { typeName: 'b' } } }>()",
    /"job type 'a': continueWith names 'b', which is no job type here"/,
  ],
  [
    'defineJobTypes<{ a: { input: null; continueWith: { input: 5 } } }>()',
    /"job type 'a': continueWith has the shape of an input that no job type has"/,
  ],
  [
    "defineJobTypes<{ a: { input: null; output: null; blockers: [{ typeName: 'a' }] } }>()",
    /"job type 'a': blockers names 'a', which starts no chain: it is not declared with entry: true"/,
  ],
  [
    "defineJobTypes<{ a: { input: null; output: null; blockers: [{ typeName: 'b' }] } }>()",
    /"job type 'a': blockers names 'b', which is no job type here"/,
  ],
  [
    'defineJobTypes<{ a: { input: null; output: null; blockers: [{ input: null }] } }>()',
    /"job type 'a': blockers has the shape of an input that no entry type has"/,
  ],
  [
    'defineJobTypes<{ a: { input: null; output: null; enrty: true } }>()',
    /"job type 'a' has an unknown property 'enrty'"/,
  ],
  [
    "void client.startJobChain({ typeName: 'ship', input: null })",
    /"job type 'ship' starts no chain: it is not declared with entry: true"/,
  ],
  [
    "void client.startJobChain({ typeName: 'sail', input: null })",
    /'"sail"' is not assignable to type '"order" \| "report"'/,
  ],
  [
    "void client.startJobChain({ typeName: 'order', input: { id: '' }, blockers: [] })",
    /"job type 'order' declares no blockers"/,
  ],
  [
    'work({ ship: { process: async ({ complete }) => complete(5) } })',
    /"job type 'ship' has no output: it must continue"/,
  ],
  [
    "work({ refund: { process: async ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: 'ship' })) } })",
    /"job type 'refund' declares no continueWith: it ends its chain"/,
  ],
  [
    "work({ ship: { process: async ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: 'order', input: null })) } })",
    /"job type 'ship' does not continue with 'order'"/,
  ],
  [
    'work({ order: { process: async ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: either, input: null })) } })',
    /"narrow typeName to one job type first: each has an input of its own"/,
  ],
  [
    "void client.completeJobChain({ typeName: 'order', id: '', complete: ({ job, complete }) => complete(job, async () => null) })",
    /"narrow job by its typeName first: each job type has an end of its own"/,
  ],
]

/** Calls that name a wrong type, and the one error that each has. */
const wrongNames: readonly [statement: string, error: RegExp][] = [
  [
    "work({ ship: { process: async ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: 'sail', input: null })) } })",
    /'"sail"' is not assignable to type '"refund"'/,
  ],
  [
    "work({ order: { process: async ({ complete }) => complete(async ({ continueWith }) => continueWith({ typeName: 'sail', input: 5 })) } })",
    /'"sail"' is not assignable to type '"refund" \| "ship"'/,
  ],
  [
    "work({ order: { process: async ({ complete }) => complete(async ({ continueWith }) => Math.random() > 1 ? null : continueWith({ typeName: 'report', input: 5, blockers: [] })) } })",
    /"job type 'order' does not continue with 'report'"/,
  ],
  [
    "work({ order: { process: async ({ complete }) => complete(async ({ continueWith }) => continueWith({ typeName: 'ship', input: 5 })) } })",
    /'number' is not assignable to type 'null'/,
  ],
]

/** Both lists in one run: most of its time is that for the sources. */
const compiled = (t: TestContext): ReturnType<typeof compile> =>
  compile(t, 'messages', ...[wrongNames, mistakes].map((list) => head + list.map(([text]) => text).join('\n')))
let compiling: ReturnType<typeof compile> | undefined
const first = head.split('\n').length

test('a continuation of a type that is not declared is one error, about the name', async (t) => {
  const errors = (await (compiling ??= compiled(t))).errors.filter(({ program }) => program === 0)
  for (const [index, [statement, error]] of wrongNames.entries()) {
    const found = errors.filter(({ line }) => line === first + index)
    assert.equal(found.length, 1, `${statement}\n${found.map(({ text }) => text).join('\n')}`)
    assert.match(found[0]!.text, error, statement)
  }
})

test('an error about a job type is a sentence that names it', async (t) => {
  const errors = (await (compiling ??= compiled(t))).errors.filter(({ program }) => program === 1)
  const linesOf = (index: number): string =>
    errors
      .filter(({ line }) => line === first + index)
      .map(({ text }) => text)
      .join('\n')
  for (const [index, [statement, sentence]] of mistakes.entries()) assert.match(linesOf(index), sentence, statement)
  assert.deepEqual(
    errors.filter(({ line }) => line < first),
    [],
  )
})
