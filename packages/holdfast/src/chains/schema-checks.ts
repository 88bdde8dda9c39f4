// The checks of a registry that was declared by schemas.

import { invalidArgument, JobTypeValidationError } from '../errors.ts'
import type { CheckedBlocker, JobTypeChecks } from './registry.ts'
import type { SchemaBlocker, SchemaDefinition, SchemaDefinitions, SchemaReference } from './types/schema-definitions.ts'
import { plainIssues, type StandardSchema } from '../engine/standard-schema.ts'

export function schemaChecks(schemas: SchemaDefinitions): JobTypeChecks {
  const definitionOf = (typeName: string): SchemaDefinition => {
    // A name is data: 'constructor' is a valid one.
    if (!Object.hasOwn(schemas, typeName)) {
      throw new JobTypeValidationError('UNKNOWN_TYPE', typeName, 'the registry does not declare it')
    }
    return schemas[typeName]!
  }

  const validateEntry = (typeName: string): void => {
    if (definitionOf(typeName).entry) return
    throw new JobTypeValidationError('NOT_ENTRY_POINT', typeName, 'it is not declared with entry: true')
  }

  return {
    validateEntry,

    parseInput: (typeName, input) => parse('INVALID_INPUT', typeName, definitionOf(typeName).input, input),

    parseOutput(typeName, output) {
      const schema = definitionOf(typeName).output
      if (schema) return parse('INVALID_OUTPUT', typeName, schema, output)
      throw new JobTypeValidationError('INVALID_OUTPUT', typeName, 'it has no output: it must continue')
    },

    async validateContinueWith(typeName, next) {
      const { continueWith } = definitionOf(typeName)
      definitionOf(next.typeName)
      if (continueWith && (await fits(continueWith, next))) return
      throw new JobTypeValidationError('INVALID_CONTINUATION', typeName, `it does not continue with '${next.typeName}'`)
    },

    async validateBlockers(typeName, blockers) {
      const slots = slotsOf(definitionOf(typeName).blockers ?? [], blockers.length)
      const refuse = (message: string): never => {
        throw new JobTypeValidationError('INVALID_BLOCKERS', typeName, message)
      }
      if (!slots) return refuse(`it does not declare ${blockers.length} blockers`)
      for (const [index, blocker] of blockers.entries()) {
        validateEntry(blocker.typeName)
        if (!(await fits(slots[index]!, blocker)))
          refuse(`blocker ${index} may not be a chain of '${blocker.typeName}'`)
      }
    },
  }
}

/** The slot of each blocker. Undefined: the declaration does not allow this number of blockers. */
function slotsOf(declared: readonly SchemaBlocker[], count: number): SchemaBlocker[] | undefined {
  const at = declared.findIndex((slot) => slot.many)
  if (at === -1) return count === declared.length ? [...declared] : undefined
  const times = count - (declared.length - 1)
  if (times < 0) return undefined
  return [...declared.slice(0, at), ...Array<SchemaBlocker>(times).fill(declared[at]!), ...declared.slice(at + 1)]
}

/** A chain that exists fits every shape: the input that it was given before parsing is not kept. */
async function fits(reference: SchemaReference, job: CheckedBlocker): Promise<boolean> {
  if ('typeName' in reference) return [reference.typeName].flat().includes(job.typeName)
  if (!('input' in job)) return true
  return !(await reference.input['~standard'].validate(job.input)).issues
}

function parse(
  code: 'INVALID_INPUT' | 'INVALID_OUTPUT',
  typeName: string,
  schema: StandardSchema,
  value: unknown,
): unknown {
  const read = (result: Awaited<ReturnType<StandardSchema['~standard']['validate']>>): unknown => {
    if (!result.issues) return result.value
    const issues = plainIssues(result.issues)
    const found = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    const what = code === 'INVALID_INPUT' ? 'input' : 'output'
    throw new JobTypeValidationError(code, typeName, `${what} refused: ${found.join('; ')}`, { issues })
  }
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then(read) : read(result)
}

// ── the declaration itself ───────────────────────────────────────────────────────────────────────────────────────────

const known = new Set(['entry', 'input', 'output', 'continueWith', 'blockers'])

/** The checks of the compiler again, for JavaScript. @throws TypeError INVALID_ARGUMENT */
export function checkSchemaDefinitions(schemas: SchemaDefinitions): void {
  if (typeof schemas !== 'object' || schemas === null) throw invalidArgument('schemas', 'an object', schemas)
  for (const [name, definition] of Object.entries(schemas)) {
    if (typeof definition !== 'object' || definition === null) throw invalidArgument(name, 'a definition', definition)
    for (const key of Object.keys(definition)) {
      if (!known.has(key)) throw invalidArgument(name, `only ${[...known].join(', ')}`, key)
    }
    const { entry, input, output, continueWith, blockers = [] } = definition
    if (entry !== undefined && entry !== true) throw invalidArgument(`${name}.entry`, 'true, or nothing', entry)
    checkSchema(`${name}.input`, input)
    if (output !== undefined) checkSchema(`${name}.output`, output)
    if (output === undefined && continueWith === undefined) {
      throw invalidArgument(name, 'an output, a continueWith, or both', definition)
    }
    if (continueWith !== undefined) checkReference(`${name}.continueWith`, continueWith, schemas)
    checkBlockers(`${name}.blockers`, blockers, schemas)
  }
}

function checkBlockers(where: string, blockers: readonly SchemaBlocker[], schemas: SchemaDefinitions): void {
  if (!Array.isArray(blockers)) throw invalidArgument(where, 'an array', blockers)
  for (const [index, blocker] of (blockers as readonly SchemaBlocker[]).entries()) {
    checkReference(`${where}[${index}]`, blocker, schemas)
    for (const name of 'typeName' in blocker ? [blocker.typeName].flat() : []) {
      if (!schemas[name]!.entry) throw invalidArgument(`${where}[${index}].typeName`, 'an entry type', name)
    }
  }
  const many = blockers.filter((blocker) => blocker.many)
  if (many.length > 1) throw invalidArgument(where, 'at most one slot with many', many)
}

function checkReference(where: string, reference: SchemaReference, schemas: SchemaDefinitions): void {
  if (typeof reference !== 'object' || reference === null) throw invalidArgument(where, 'a reference', reference)
  if ('typeName' in reference) {
    for (const name of [reference.typeName].flat()) {
      if (typeof name !== 'string' || !Object.hasOwn(schemas, name)) {
        throw invalidArgument(`${where}.typeName`, 'a declared job type', name)
      }
    }
  } else if ('input' in reference) checkSchema(`${where}.input`, reference.input)
  else throw invalidArgument(where, '{ typeName } or { input }', reference)
}

function checkSchema(where: string, schema: StandardSchema): void {
  // In some libraries a schema is a function.
  const standard: unknown = (schema as StandardSchema | undefined)?.['~standard']
  if (typeof (standard as StandardSchema['~standard'] | undefined)?.validate !== 'function') {
    throw invalidArgument(where, 'a Standard Schema', schema)
  }
}
