// The Temporal that durations for Fedify are made with: the global one, or that of a polyfill.

/** `Temporal`, or the part of it that is used. */
export interface TemporalNamespace {
  readonly Duration: { from(fields: { milliseconds: number }): Temporal.Duration }
}

/** @param given by the caller @returns undefined if this runtime has none */
export const temporalOf = (given: TemporalNamespace | undefined): TemporalNamespace | undefined =>
  given ?? (Reflect.get(globalThis, 'Temporal') as TemporalNamespace | undefined)
