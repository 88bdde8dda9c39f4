// The command was called wrongly: exit code 2, with a hint.

import { suggestion } from '../option-suggestions.ts'

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A word that is none of the known ones, with the nearest of them. */
export function unknownWord(what: string, word: string, known: readonly string[]): UsageError {
  const meant = suggestion(word.slice(0, 64), known)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return new UsageError(`unknown ${what} '${shortened(word)}'.${hint}`)
}

/** A word that is none of a few: all of them are told, unless one is near. */
export function wrongValue(what: string, word: string, values: readonly string[]): UsageError {
  const { message } = unknownWord(what, word, values)
  return new UsageError(message.endsWith('?') ? message : `${message} Expected one of: ${values.join(', ')}.`)
}

/** For messages: an argument may be of any length. */
export const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)
