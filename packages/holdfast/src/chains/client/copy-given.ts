// The argument of a method, read once: a getter cannot answer differently after it was checked.

import { readable } from '../../copy-option.ts'
import { isGiven } from '../options.ts'

/** @throws TypeError INVALID_ARGUMENT unless it is an object that can be read */
export function copyGiven<T extends object>(where: string, options: T): T {
  isGiven(where, options)
  return readable(`${where} options`, () => ({ ...options }))
}
