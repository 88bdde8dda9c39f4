// Small checks that messages are described with. What passes is a copy that holds the described fields and nothing else, so
// nothing that a stranger added (`__proto__`, say) travels further.

import { FederationError } from '../../errors.ts'

export interface Schema<T> {
  /** @throws FederationError MESSAGE_INVALID */
  parse(value: unknown): T
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: FederationError }
}

/** Answers what passed. Throws a Misfit at the first thing that does not. */
export type Check<T> = (value: unknown, path: string) => T

type Checked<C> = C extends Check<infer T> ? T : never

class Misfit {
  readonly path: string
  readonly expected: string
  constructor(path: string, expected: string) {
    this.path = path
    this.expected = expected
  }
}

export function schema<T>(check: Check<T>): Schema<T> {
  function safeParse(value: unknown): ReturnType<Schema<T>['safeParse']> {
    try {
      return { success: true, data: check(value, '') }
    } catch (error) {
      if (!(error instanceof Misfit)) throw error
      // What was found instead is not said: it is the content of a message.
      const message = `${error.path || 'The message'}: expected ${error.expected}.`
      return { success: false, error: new FederationError('MESSAGE_INVALID', message) }
    }
  }
  return {
    safeParse,
    parse(value) {
      const result = safeParse(value)
      if (!result.success) throw result.error
      return result.data
    },
  }
}

/** A check by a predicate. */
export function is<T>(expected: string, test: (value: unknown) => value is T): Check<T> {
  return (value, path) => {
    if (!test(value)) throw new Misfit(path, expected)
    return value
  }
}

export function literal<const T extends string | boolean>(text: T): Check<T> {
  return is(JSON.stringify(text), (value): value is T => value === text)
}

export function oneOf<T>(expected: string, ...checks: readonly Check<T>[]): Check<T> {
  return (value, path) => {
    for (const check of checks) {
      try {
        return check(value, path)
      } catch (error) {
        if (!(error instanceof Misfit)) throw error
      }
    }
    throw new Misfit(path, expected)
  }
}

/** May be absent, or undefined. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined ? undefined : check(value, path))
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null ? null : check(value, path))
}

export function list<T>(
  check: Check<T>,
  { min, max }: { readonly min: number; readonly max: number },
): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw new Misfit(path, `an array of ${min} to ${max}`)
    }
    return value.map((item, index) => check(item, `${path}[${index}]`))
  }
}

type Fields = Readonly<Record<string, Check<unknown>>>
type Optional<F extends Fields> = { [K in keyof F]: undefined extends Checked<F[K]> ? K : never }[keyof F]
export type ObjectOf<F extends Fields> = {
  readonly [K in Exclude<keyof F, Optional<F>>]: Checked<F[K]>
} & { readonly [K in Optional<F>]?: Checked<F[K]> }

/** Only own fields count; others than the described ones are left out. */
export function object<F extends Fields>(fields: F): Check<ObjectOf<F>> {
  return (value, path) => {
    if (!isObject(value)) throw new Misfit(path, 'an object')
    const copy: Record<string, unknown> = {}
    for (const [name, check] of Object.entries(fields)) {
      const field = check(Object.hasOwn(value, name) ? value[name] : undefined, path === '' ? name : `${path}.${name}`)
      if (field !== undefined) copy[name] = field
    }
    return copy as ObjectOf<F>
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
