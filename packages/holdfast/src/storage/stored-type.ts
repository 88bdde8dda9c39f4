// The stored type of a job: the face that added it, a dot, and the name people gave it, such as `queue.mail`.
// Invariant: two faces never share a stored type, whatever their names, so no face claims, cancels, deduplicates against or
// sweeps the jobs of another. A face name has no dot: the first dot ends it, and the rest is the name, of any content.

import { invalidArgument } from '../errors.ts'

/** The faces of this project. Packages built on one of them may bring a face name of their own. */
export const faces = ['queue', 'chain', 'task', 'fedify', 'federation'] as const

/** @param face `a-z`, digits and `-`, starting with a letter @param name as the user gave it */
export function storedType(face: string, name: string): string {
  return `${face}.${name}`
}

/** Face and name of a stored type. A type that no face wrote has face `''`. */
export function parseType(type: string): { readonly face: string; readonly name: string } {
  const dot = type.indexOf('.')
  const face = type.slice(0, Math.max(0, dot))
  return isFaceName(face) ? { face, name: type.slice(dot + 1) } : { face: '', name: type }
}

/** An option check. @throws TypeError INVALID_ARGUMENT */
export function isFace(name: string, value: unknown): void {
  if (typeof value !== 'string' || !isFaceName(value)) {
    throw invalidArgument(name, 'a face name (a-z, digits and -, at most 32 characters, starting with a letter)', value)
  }
}

const isFaceName = (text: string): boolean => /^[a-z][a-z0-9-]{0,31}$/.test(text)

/** The type of `new Queue({ storage })`. The file driver shows its jobs in the root of its directory. */
export const defaultType = storedType('queue', 'default')
