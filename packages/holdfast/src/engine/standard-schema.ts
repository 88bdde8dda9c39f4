// The part of the Standard Schema interface that Holdfast calls. Zod, Valibot, ArkType and others implement it, so none of them is
// a dependency.

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    /** Carries the types; never set at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type SchemaTypes<S> = S extends { readonly '~standard': { readonly types?: infer V } } ? NonNullable<V> : never

export type SchemaInput<S> = SchemaTypes<S> extends { readonly input: infer I } ? I : never
export type SchemaOutput<S> = SchemaTypes<S> extends { readonly output: infer O } ? O : never

/** The issues that a schema found, each with its message and a path of plain keys. */
export function plainIssues(issues: readonly SchemaIssue[]): { message: string; path: (string | number)[] }[] {
  return issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((part) => {
      const key = typeof part === 'object' ? part.key : part
      return typeof key === 'symbol' ? String(key) : key
    }),
  }))
}
