// The answers of a storage that has them before its call returns. Its methods return promises, as those of every storage. The engine
// finds the answer on the promise, and then needs no timer, and neither a promise nor a tick of its own.
// Who wraps such a storage and awaits its promises returns other promises, which have no answer on them: the engine awaits those.

const answer = Symbol('answer')

/** Not a kind of Promise: the compiler would look at all of its members, for each answer. */
interface Answered {
  [answer]?: unknown
}

/** A promise that has resolved. @param value not undefined */
export function answered<T extends object>(value: T): Promise<T> {
  const promise = Promise.resolve(value)
  ;(promise as Answered)[answer] = value
  return promise
}

/** What a promise of answered() resolves with. Undefined: another promise. */
export const answerOf = <T>(promise: Promise<T>): T | undefined => (promise as Answered)[answer] as T | undefined
