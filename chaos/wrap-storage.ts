// A storage whose calls all go through one function: kill points, recorders and planted defects are such functions.

import type { Storage } from 'holdfast'
import type { KeyValue, Unlisten } from 'holdfast/storage'

/** @param verb as in the contract, with `kv.` before the verbs of the key-value store, or `unlisten` */
export type CallWrapper = (verb: string, args: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>

const verbs =
  'connect disconnect clear add claim extend settle recover cancel revive remove pause sweep get list count nextDueAt'
const kvVerbs = 'get set setIfAbsent cas delete list'

type Call = (...args: unknown[]) => Promise<unknown>

export function wrapStorage(storage: Storage, around: CallWrapper): Storage {
  const wrap = (target: object, verb: string, name: string): Call => {
    const call = (target as Record<string, Call>)[verb]!.bind(target)
    return async (...args) => around(name, args, () => call(...args))
  }
  const all = (target: object, names: string, prefix: string): Record<string, Call> =>
    Object.fromEntries(names.split(' ').map((verb) => [verb, wrap(target, verb, prefix + verb)]))
  const listen = wrap(storage, 'listen', 'listen')
  return {
    ...(all(storage, verbs, '') as unknown as Storage),
    kv: all(storage.kv, kvVerbs, 'kv.') as unknown as KeyValue,
    driver: storage.driver,
    transaction: storage.transaction && (wrap(storage, 'transaction', 'transaction') as Storage['transaction']),
    get features() {
      return storage.features
    },
    get settings() {
      return storage.settings
    },
    async listen(...args) {
      const unlisten = (await listen(...args)) as Unlisten
      return wrap({ unlisten }, 'unlisten', 'unlisten') as Unlisten
    },
  }
}
