// The registry at run time: which values pass, what they become, and how others are refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHoldfastError } from 'holdfast'
import { JobTypeValidationError } from 'holdfast/chains'
import { createJobTypeRegistry, defineJobTypes, type JobTypeChecks, type StandardSchema } from 'holdfast/chains'
import * as v from 'valibot'

const text = v.object({ text: v.string() })

const registry = defineJobTypes({
  mail: {
    entry: true,
    input: v.object({ to: v.string(), size: v.pipe(v.string(), v.transform(Number)) }),
    output: v.pipe(v.number(), v.transform(String)),
    continueWith: { typeName: ['bounce', 'archive'] },
  },
  bounce: { input: v.null(), output: v.null() },
  archive: { input: text, continueWith: { input: text } },
  file: { input: text, output: v.null() },
  note: { entry: true, input: v.null(), output: v.null() },
  memo: { entry: true, input: text, output: v.null() },
  digest: { entry: true, input: v.null(), output: v.null(), blockers: [{ typeName: 'note' }, { input: text }] },
  album: {
    entry: true,
    input: v.null(),
    output: v.null(),
    blockers: [{ typeName: 'note' }, { typeName: 'memo', many: true }, { typeName: 'mail' }],
  },
})

/** The error of a call that throws or rejects. */
async function refused(check: () => unknown): Promise<JobTypeValidationError> {
  try {
    await check()
  } catch (error) {
    assert.ok(error instanceof JobTypeValidationError, String(error))
    return error
  }
  return assert.fail('it was let through')
}

async function codeOf(check: () => unknown): Promise<string> {
  return (await refused(check)).code
}

const next = (from: string, typeName: string, input: unknown): unknown =>
  registry.validateContinueWith(from, { typeName, input })

const albumOf = (...names: string[]): unknown =>
  registry.validateBlockers(
    'album',
    names.map((typeName) => ({ typeName })),
  )

describe('a registry of types alone', () => {
  const types = defineJobTypes<{ a: { entry: true; input: null; output: null } }>()

  test('passes every value unchanged', async () => {
    const value = { anything: true }
    assert.equal(types.parseInput('b', value), value)
    assert.equal(types.parseOutput('b', value), value)
    await types.validateEntry('b')
    await types.validateContinueWith('b', { typeName: 'c', input: value })
    await types.validateBlockers('b', [{ typeName: 'c' }])
    assert.equal(types.typeNames, undefined)
  })
})

describe('a registry of schemas', () => {
  test('has the names of its types', () => {
    assert.deepEqual(registry.typeNames, ['mail', 'bounce', 'archive', 'file', 'note', 'memo', 'digest', 'album'])
  })

  test('entry types start a chain, others do not', async () => {
    await registry.validateEntry('mail')
    assert.equal(await codeOf(() => registry.validateEntry('bounce')), 'NOT_ENTRY_POINT')
    const error = await refused(() => registry.validateEntry('archive'))
    assert.equal(error.message, "job type 'archive': it is not declared with entry: true")
    assert.equal(error.typeName, 'archive')
    assert.ok(isHoldfastError(error, 'NOT_ENTRY_POINT'))
  })

  test('returns what the schema parsed', async () => {
    assert.deepEqual(await registry.parseInput('mail', { to: 'ada', size: '5', more: 1 }), { to: 'ada', size: 5 })
    assert.equal(await registry.parseOutput('mail', 7), '7')
  })

  test('refuses an input with the issues and their paths', async () => {
    const error = await refused(() => registry.parseInput('mail', { to: 5, size: '5' }))
    assert.equal(error.code, 'INVALID_INPUT')
    assert.equal(error.typeName, 'mail')
    assert.deepEqual(
      error.issues?.map(({ path }) => path),
      [['to']],
    )
    assert.match(error.message, /^job type 'mail': input refused: to: .*string/)
    assert.deepEqual(JSON.parse(JSON.stringify(error)).issues, error.issues)
  })

  test('refuses an output with the issues, and any output of a type without one', async () => {
    assert.match((await refused(() => registry.parseOutput('mail', '7'))).message, /^job type 'mail': output refused: /)
    assert.equal(await codeOf(() => registry.parseOutput('mail', '7')), 'INVALID_OUTPUT')
    assert.equal(await codeOf(() => registry.parseOutput('archive', null)), 'INVALID_OUTPUT')
  })

  test('an undeclared name is unknown, also one that every object has', async () => {
    for (const name of ['letter', 'constructor', '__proto__', '']) {
      assert.equal(await codeOf(() => registry.validateEntry(name)), 'UNKNOWN_TYPE')
      assert.equal(await codeOf(() => registry.parseInput(name, null)), 'UNKNOWN_TYPE')
      assert.equal(await codeOf(() => registry.parseOutput(name, null)), 'UNKNOWN_TYPE')
      assert.equal(
        await codeOf(() => registry.validateContinueWith(name, { typeName: 'bounce', input: null })),
        'UNKNOWN_TYPE',
      )
      assert.equal(
        await codeOf(() => registry.validateContinueWith('mail', { typeName: name, input: null })),
        'UNKNOWN_TYPE',
      )
      assert.equal(await codeOf(() => registry.validateBlockers(name, [])), 'UNKNOWN_TYPE')
    }
  })

  test('continues by name, or by the shape of the input', async () => {
    await next('mail', 'bounce', null)
    await next('mail', 'archive', { text: '' })
    await next('archive', 'file', { text: '' })
    await next('archive', 'archive', { text: '' })
    assert.equal(await codeOf(() => next('mail', 'file', { text: '' })), 'INVALID_CONTINUATION')
    assert.equal(await codeOf(() => next('archive', 'bounce', null)), 'INVALID_CONTINUATION')
    const error = await refused(() => next('bounce', 'mail', {}))
    assert.deepEqual(
      [error.code, error.message],
      ['INVALID_CONTINUATION', "job type 'bounce': it does not continue with 'mail'"],
    )
  })

  test('blockers are checked by slot', async () => {
    const blockers = (...chains: { typeName: string; input?: unknown }[]): unknown =>
      registry.validateBlockers('digest', chains)
    const note = { typeName: 'note', input: null }
    const memo = { typeName: 'memo', input: { text: '' } }
    await blockers(note, memo)
    await blockers({ typeName: 'note' }, { typeName: 'memo' })
    await registry.validateBlockers('note', [])
    for (const chains of [[], [note], [memo, note], [note, memo, memo], [note, note]]) {
      assert.equal(await codeOf(() => blockers(...chains)), 'INVALID_BLOCKERS')
    }
    assert.equal(await codeOf(() => registry.validateBlockers('note', [note])), 'INVALID_BLOCKERS')
    assert.equal(await codeOf(() => blockers(note, { typeName: 'file', input: { text: '' } })), 'NOT_ENTRY_POINT')
    assert.equal(await codeOf(() => blockers(note, { typeName: 'letter' })), 'UNKNOWN_TYPE')
    assert.equal(
      (await refused(() => blockers(note, note))).message,
      "job type 'digest': blocker 1 may not be a chain of 'note'",
    )
  })

  test('a slot with many takes any number, between slots of one', async () => {
    await albumOf('note', 'mail')
    await albumOf('note', 'memo', 'mail')
    await albumOf('note', 'memo', 'memo', 'memo', 'mail')
    for (const names of [['note'], ['note', 'memo'], ['note', 'note', 'mail'], ['mail', 'memo', 'note']]) {
      assert.equal(await codeOf(() => albumOf(...names)), 'INVALID_BLOCKERS')
    }
  })

  test('a schema may be asynchronous, and may throw', async () => {
    const boom = new Error('boom')
    const slow = defineJobTypes({
      a: {
        entry: true,
        input: v.pipeAsync(
          v.string(),
          v.transformAsync(async (value) => value.length),
        ),
        output: v.null(),
      },
      b: {
        entry: true,
        input: schema(() => {
          throw boom
        }),
        output: v.null(),
      },
      c: { entry: true, input: schema(() => Promise.reject(boom)), output: v.null() },
    })
    assert.equal(await slow.parseInput('a', 'four'), 4)
    assert.equal(await codeOf(() => slow.parseInput('a', 5)), 'INVALID_INPUT')
    for (const name of ['b', 'c']) {
      const error = await refused(() => slow.parseInput(name, 'x'))
      assert.deepEqual(
        [error.code, error.cause, error.message],
        ['INVALID_INPUT', boom, `job type '${name}': its input was refused: boom`],
      )
    }
  })

  test('an impossible declaration is refused at run time too', () => {
    const declare = defineJobTypes as (schemas: unknown) => unknown
    const input = v.null()
    const cases: readonly [schemas: unknown, message: RegExp][] = [
      [null, /^schemas: expected an object, got null$/],
      [{ a: 5 }, /^a: expected a definition, got 5$/],
      [{ a: { input, output: input, outptu: 5 } }, /^a: expected only entry, .*, got "outptu"$/],
      [{ a: { entry: false, input, output: input } }, /^a\.entry: expected true, or nothing, got false$/],
      [{ a: { output: input } }, /^a\.input: expected a Standard Schema, got undefined$/],
      [{ a: { input: {}, output: input } }, /^a\.input: expected a Standard Schema, got an object$/],
      [{ a: { input, output: 'string' } }, /^a\.output: expected a Standard Schema, got "string"$/],
      [{ a: { input } }, /^a: expected an output, a continueWith, or both, got an object$/],
      [{ a: { input, continueWith: 'b' } }, /^a\.continueWith: expected a reference, got "b"$/],
      [
        { a: { input, continueWith: { name: 'a' } } },
        /^a\.continueWith: expected \{ typeName \} or \{ input \}, got an object$/,
      ],
      [
        { a: { input, continueWith: { typeName: 'b' } } },
        /^a\.continueWith\.typeName: expected a declared job type, got "b"$/,
      ],
      [
        { a: { input, continueWith: { typeName: ['a', 'toString'] } } },
        /expected a declared job type, got "toString"$/,
      ],
      [{ a: { input, continueWith: { input: 5 } } }, /^a\.continueWith\.input: expected a Standard Schema, got 5$/],
      [{ a: { input, output: input, blockers: {} } }, /^a\.blockers: expected an array, got an object$/],
      [
        { a: { input, output: input, blockers: [{ typeName: 'a' }] } },
        /^a\.blockers\[0\]\.typeName: expected an entry type, got "a"$/,
      ],
      [
        {
          a: {
            entry: true,
            input,
            output: input,
            blockers: [
              { typeName: 'a', many: true },
              { typeName: 'a', many: true },
            ],
          },
        },
        /^a\.blockers: expected at most one slot with many, got an array of 2$/,
      ],
    ]
    for (const [schemas, message] of cases)
      assert.throws(() => declare(schemas), { name: 'TypeError', code: 'INVALID_ARGUMENT', message })
  })
})

describe('a registry with own checks', () => {
  const boom = new Error('boom')
  const passing: JobTypeChecks = {
    validateEntry() {},
    parseInput: (typeName, input) => ({ typeName, input }),
    parseOutput: async (typeName, output) => ({ typeName, output }),
    validateContinueWith() {},
    validateBlockers() {},
  }

  test('calls them', async () => {
    const own = createJobTypeRegistry<{ a: { entry: true; input: null; output: null } }>(passing)
    assert.deepEqual(own.parseInput('a', 5), { typeName: 'a', input: 5 })
    assert.deepEqual(await own.parseOutput('a', 5), { typeName: 'a', output: 5 })
  })

  const calls = {
    validateEntry: ['NOT_ENTRY_POINT', (own: JobTypeChecks) => own.validateEntry('a')],
    parseInput: ['INVALID_INPUT', (own: JobTypeChecks) => own.parseInput('a', 5)],
    parseOutput: ['INVALID_OUTPUT', (own: JobTypeChecks) => own.parseOutput('a', 5)],
    validateContinueWith: [
      'INVALID_CONTINUATION',
      (own: JobTypeChecks) => own.validateContinueWith('a', { typeName: 'b', input: 5 }),
    ],
    validateBlockers: ['INVALID_BLOCKERS', (own: JobTypeChecks) => own.validateBlockers('a', [])],
  } as const

  for (const [name, [code, call]] of Object.entries(calls)) {
    test(`an error of ${name} becomes the cause of ${code}; a JobTypeValidationError stays as it is`, async () => {
      for (const fail of [
        () => {
          throw boom
        },
        async () => {
          throw boom
        },
      ]) {
        const error = await refused(() => call(createJobTypeRegistry({ ...passing, [name]: fail })))
        assert.deepEqual([error.code, error.typeName, error.cause], [code, 'a', boom])
        assert.match(error.message, /^job type 'a': .*: boom$/)
      }
      const ours = new JobTypeValidationError('UNKNOWN_TYPE', 'a', 'never heard of it')
      assert.equal(
        await refused(() =>
          call(
            createJobTypeRegistry({
              ...passing,
              [name]: () => {
                throw ours
              },
            }),
          ),
        ),
        ours,
      )
    })

    test(`${name} is required`, () => {
      assert.throws(() => createJobTypeRegistry({ ...passing, [name]: undefined }), {
        code: 'INVALID_ARGUMENT',
        message: `checks.${name}: expected a function, got undefined`,
      })
    })
  }
})

function schema(validate: (value: unknown) => never | Promise<never>): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}
