// Combinators that describe messages. A value that passes is copied with its described fields only, so that no field that a
// sender added (such as `__proto__`) is passed on.

import { FederationError } from '../../errors.ts'

export interface Schema<T> {
  /** @throws FederationError MESSAGE_INVALID */
  parse(value: unknown): T
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: FederationError }
}

/** Returns the checked value. Throws a Mismatch at the first field that does not fit. */
export type Check<T> = (value: unknown, path: string) => T

type Checked<C> = C extends Check<infer T> ? T : never

class Mismatch {
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
      if (!(error instanceof Mismatch)) throw error
      // The error does not quote the value, which is the content of a message.
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

/** Makes a check from a predicate. */
export function is<T>(expected: string, test: (value: unknown) => value is T): Check<T> {
  return (value, path) => {
    if (!test(value)) throw new Mismatch(path, expected)
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
        if (!(error instanceof Mismatch)) throw error
      }
    }
    throw new Mismatch(path, expected)
  }
}

/** Allows an absent field, or undefined. */
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
      throw new Mismatch(path, `an array of ${min} to ${max}`)
    }
    return value.map((item, index) => check(item, `${path}[${index}]`))
  }
}

type Fields = Readonly<Record<string, Check<unknown>>>
type Optional<F extends Fields> = { [K in keyof F]: undefined extends Checked<F[K]> ? K : never }[keyof F]
export type ObjectOf<F extends Fields> = {
  readonly [K in Exclude<keyof F, Optional<F>>]: Checked<F[K]>
} & { readonly [K in Optional<F>]?: Checked<F[K]> }

/** Reads own fields only. Fields without a check are left out. */
export function object<F extends Fields>(fields: F): Check<ObjectOf<F>> {
  return (value, path) => {
    if (!isObject(value)) throw new Mismatch(path, 'an object')
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
