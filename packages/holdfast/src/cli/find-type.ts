// Types as an operator names them: `queue.mail`, or `mail` if only one face has that name.

import type { Admin } from '../admin/admin.ts'
import type { NamedType } from '../admin/options.ts'
import { faces, parseType, storedType } from '../storage/stored-type.ts'
import { suggestion } from '../option-suggestions.ts'
import { shortened, UsageError } from './usage-error.ts'

/** As it is typed and shown: `queue.mail`. */
export const typeText = ({ face, name }: NamedType): string => (face === '' ? name : storedType(face, name))

/** Known types that a text names: by their whole name if one has it, else by name alone. */
function matching<T extends NamedType>(text: string, known: readonly T[]): readonly T[] {
  const whole = known.filter((type) => typeText(type) === text)
  return whole.length > 0 ? whole : known.filter(({ name }) => name === text)
}

/**
 * The type that a text names. One that the storage does not know may be named with its face: `queue.mail`.
 * @throws UsageError if several have the name, or none
 */
export async function findType(admin: Admin, text: string): Promise<NamedType> {
  const known = await admin.types()
  const [found, ...others] = matching(text, known)
  if (found && others.length > 0) {
    throw new UsageError(
      `several types are named '${shortened(text)}': ${list([found, ...others])}. Give its whole name.`,
    )
  }
  if (found) return { face: found.face, name: found.name }
  const parsed = parseType(text)
  if ((faces as readonly string[]).includes(parsed.face) && parsed.name !== '') return parsed
  throw unknownType(text, known)
}

/** The types that texts name, each at least one. @throws UsageError */
export async function findTypes(admin: Admin, texts: readonly string[]): Promise<NamedType[]> {
  const known = await admin.types()
  return texts.flatMap((text) => {
    const found = matching(text, known)
    if (found.length === 0) throw unknownType(text, known)
    return found.map(({ face, name }) => ({ face, name }))
  })
}

const list = (types: readonly NamedType[]): string => types.map(typeText).join(', ')

function unknownType(text: string, known: readonly NamedType[]): UsageError {
  const names = known.flatMap((type) => [typeText(type), type.name])
  const meant = suggestion(text.slice(0, 64), names)
  const hint =
    meant !== undefined
      ? `Did you mean ${meant}?`
      : known.length === 0
        ? 'The storage has no jobs.'
        : `There are ${shownNames(known)}.`
  return new UsageError(`no type is named '${shortened(text)}'. ${hint}`)
}

function shownNames(known: readonly NamedType[]): string {
  const shown = known.slice(0, 10).map((type) => shortened(typeText(type)))
  return known.length > 10 ? `${shown.join(', ')} and ${known.length - 10} more` : shown.join(', ')
}
