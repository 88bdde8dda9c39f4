// A real storage behind a faulty connection: calls can fail, be applied and then fail, be late or never answered, and signals can
// be lost. It also counts the calls.
//
//   const line = faulty(storage)
//   line.on('settle', failing(2))             the second settle fails, and nothing is written
//   line.on('add', losingAnswers(1))          the first add is applied, and its answer lost
//   line.cut(); …; line.mend()                no call is answered until it is mended

import type { Storage } from 'holdfast'
import type { KeyValue, Signal } from 'holdfast/storage'

/** `kv.cas` and so on for the key-value part; `unlisten` for the end of a listen. */
export type Verb = string

interface Call {
  readonly verb: Verb
  /** Among the calls of its verb, from 1. */
  readonly number: number
  readonly args: readonly unknown[]
  answer?: unknown
}

/** In place of the call. `apply` makes it. */
export type Rule = (apply: () => Promise<unknown>, call: Call) => Promise<unknown>

export interface Faulty<S extends Storage = Storage> {
  readonly storage: S
  /** Every call, in order. */
  readonly calls: readonly Call[]
  /** Of these verbs, or of all. */
  count(...verbs: Verb[]): number
  /** The latest rule of a verb counts; '*' is for verbs that have none. */
  on(verb: Verb, rule: Rule | undefined): void
  /** From now on no call is answered, and none arrives. */
  cut(): void
  /** Those that were not answered fail; others go through again. */
  mend(): void
  /** Signals for which this holds are lost. */
  lose(signals: (signal: Signal) => boolean): void
  /** Connections that were taken and not given back. */
  readonly connections: number
  /** Calls under way. */
  readonly pending: number
}

export function faulty<S extends Storage>(inner: S): Faulty<S> {
  const calls: Call[] = []
  const counts = new Map<Verb, number>()
  const rules = new Map<Verb, Rule>()
  let connections = 0
  let pending = 0
  let isLost: ((signal: Signal) => boolean) | undefined
  let cutOff: PromiseWithResolvers<never> | undefined

  const send = async (verb: Verb, args: readonly unknown[], apply: () => Promise<unknown>): Promise<unknown> => {
    const number = (counts.get(verb) ?? 0) + 1
    counts.set(verb, number)
    const call: Call = { verb, number, args }
    calls.push(call)
    if (cutOff) return cutOff.promise
    const rule = rules.get(verb) ?? rules.get('*')
    pending++
    try {
      call.answer = rule ? await rule(apply, call) : await apply()
    } finally {
      pending--
    }
    return call.answer
  }
  const listen: Storage['listen'] = async (topics, onSignal) => {
    const hear = (signal: Signal): void => {
      if (!cutOff && !isLost?.(signal)) onSignal(signal)
    }
    const unlisten = await (send('listen', [topics], () => inner.listen(topics, hear)) as ReturnType<Storage['listen']>)
    return () => send('unlisten', [], unlisten) as Promise<void>
  }
  const counted =
    (verb: 'connect' | 'disconnect', change: number): (() => Promise<unknown>) =>
    () =>
      send(verb, [], async () => {
        await inner[verb]()
        connections += change
      })
  const wrap = <T extends object>(target: T, prefix: string, own: Readonly<Record<string, unknown>>): T =>
    new Proxy(target, {
      get(_, key) {
        if (typeof key === 'string' && Object.hasOwn(own, key)) return own[key]
        const value: unknown = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        const method = value as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => send(prefix + String(key), args, async () => method.apply(target, args))
      },
    })

  return {
    storage: wrap(inner, '', {
      listen,
      kv: wrap<KeyValue>(inner.kv, 'kv.', {}),
      connect: counted('connect', 1),
      disconnect: counted('disconnect', -1),
    }),
    calls,
    count: (...verbs) => calls.filter(({ verb }) => verbs.length === 0 || verbs.includes(verb)).length,
    on: (verb, rule) => {
      if (rule) rules.set(verb, rule)
      else rules.delete(verb)
    },
    cut: () => {
      cutOff ??= Promise.withResolvers<never>()
      cutOff.promise.catch(() => {})
    },
    mend: () => {
      cutOff?.reject(new Error('the line was cut'))
      cutOff = undefined
    },
    lose: (signals) => (isLost = signals),
    get connections() {
      return connections
    },
    get pending() {
      return pending
    },
  }
}

/** These calls of the verb fail before anything is written; without numbers, all of them. */
export function failing(...numbers: number[]): Rule {
  return async (apply, call) => {
    if (numbers.length === 0 || numbers.includes(call.number)) throw broken(call)
    return apply()
  }
}

/** These calls are applied, and then fail. */
export function losingAnswers(...numbers: number[]): Rule {
  return async (apply, call) => {
    const answer = await apply()
    if (numbers.length === 0 || numbers.includes(call.number)) throw broken(call)
    return answer
  }
}

/** The first calls fail in a way that is worth repeating: before, or after they were applied. */
export function stumbling(times: number, when: 'before' | 'after'): Rule {
  return async (apply, call) => {
    if (call.number > times) return apply()
    if (when === 'after') await apply()
    throw Object.assign(broken(call), { transient: true })
  }
}

/** Each call takes so long on its way. */
export function delayed(ms: () => number): Rule {
  return async (apply) => {
    await new Promise((resolve) => setTimeout(resolve, ms() / 2))
    const answer = await apply()
    await new Promise((resolve) => setTimeout(resolve, ms() / 2))
    return answer
  }
}

const broken = ({ verb, number }: Call): Error => new Error(`call ${number} of ${verb} broke`)
