// The baggage that jobs carry, as text of W3C Baggage: names and values that the application attached to its context.

/** One value of a baggage. */
interface BaggageEntry {
  readonly value: string
}

interface Baggage {
  getAllEntries(): (readonly [name: string, entry: BaggageEntry])[]
}

/** What is used of `propagation` of `@opentelemetry/api`. */
export interface BaggageApi<Context> {
  getBaggage(context: Context): Baggage | undefined
  /** The type of a baggage is the API's own. */
  setBaggage(context: Context, baggage: any): Context
  createBaggage(entries: Record<string, BaggageEntry>): Baggage
}

/** How a trace context takes the baggage of a context along. */
export interface CarriedBaggage<Context> {
  /** Undefined: there is none. */
  textOf(context: Context): string | undefined
  /** The context with the baggage of the text. */
  restored(context: Context, text: string | undefined): Context
}

/** Entries that would exceed it are left out, as W3C Baggage allows. */
const longest = 8_192

/** Jobs carry the baggage of their add. Its properties after a semicolon are left out. */
export function baggageBy<Context>(api: { readonly propagation?: BaggageApi<Context> }): CarriedBaggage<Context> {
  const { propagation } = api
  if (!propagation) return noBaggage()
  return {
    textOf(context) {
      const entries = propagation.getBaggage(context)?.getAllEntries() ?? []
      let text = ''
      for (const [name, { value }] of entries) {
        const member = `${text === '' ? '' : ','}${encodeURIComponent(name)}=${encodeURIComponent(value)}`
        if (text.length + member.length <= longest) text += member
      }
      return text === '' ? undefined : text
    },
    restored(context, text) {
      const entries = text === undefined ? [] : text.split(',').flatMap(parseMember)
      if (entries.length === 0) return context
      return propagation.setBaggage(context, propagation.createBaggage(Object.fromEntries(entries)))
    },
  }
}

/** Jobs carry none. */
export const noBaggage = <Context>(): CarriedBaggage<Context> => ({
  textOf: () => undefined,
  restored: (context) => context,
})

/** Empty for a text that is none: stored bytes are input. */
function parseMember(member: string): [name: string, entry: BaggageEntry][] {
  const [name, value] = member.split(';', 1)[0]!.split('=')
  if (!name || value === undefined) return []
  try {
    return [[decodeURIComponent(name.trim()), { value: decodeURIComponent(value.trim()) }]]
  } catch {
    return []
  }
}
