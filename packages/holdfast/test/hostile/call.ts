// A public call with one argument left open: the hostile value goes there.

import { types } from 'node:util'
import type { Table } from '../../src/resolve-options.ts'
import type { Rig } from './rig.ts'

export interface HostileCall {
  readonly name: string
  /** What a refusal must name. */
  readonly names: RegExp
  /** The value fits no parameter type: that is the point. */
  run(rig: Rig, value: any): unknown
  /** After the call accepted the value: throws unless what was written reads back equal. */
  readBack?(rig: Rig, value: any, answer: any): Promise<void>
  /** Codes of an accepted value that names nothing there, such as CHAIN_NOT_FOUND. */
  readonly absent?: readonly string[]
  /**
   * The call is on the driver itself, of the type that its parameter has: what it wrote shows in the storage alone. The contract is
   * for code that is compiled against it, so values of other types are for the faces.
   */
  readonly takes?: 'text' | 'number'
}

const word = (text: string): RegExp => new RegExp(`(?<![\\w])${text.replace(/[.[\]$]/g, '\\$&')}(?![\\w])`)

/** A call for each argument. */
export const calls = (
  names: string,
  table: Readonly<Record<string, HostileCall['run']>>,
  more: Partial<HostileCall> = {},
): HostileCall[] =>
  Object.entries(table).map(([name, run]) => ({ name: `${name}: ${names}`, names: word(names), run, ...more }))

/** A call for the options as a whole, and one for each of them. @param run with the options */
export function optionCalls(
  name: string,
  table: Table,
  run: HostileCall['run'],
  more: Partial<HostileCall> & { readonly leftOut?: readonly string[]; readonly where?: RegExp } = {},
): HostileCall[] {
  const { leftOut = [], where, ...rest } = more
  const keys = Object.keys(table).filter((key) => !leftOut.includes(key))
  return [
    { ...rest, readBack: undefined, name: `${name}: options`, names: where ?? /options|expected/, run },
    ...keys.map((key) => ({
      ...rest,
      name: `${name}: ${key}`,
      names: key === 'tx' ? /tx|transactions/ : word(key),
      run: (rig: Rig, value: unknown) => run(rig, { [key]: value }),
      ...(rest.readBack && {
        readBack: (rig: Rig, value: unknown, answer: unknown) => rest.readBack!(rig, { [key]: value }, answer),
      }),
    })),
  ]
}

/** The value over what the call needs beside it. One that is no plain object of options goes as it is. */
export function over(needed: object, value: unknown): unknown {
  if (value === undefined) return needed
  const isOne = value !== null && typeof value === 'object' && types.isProxy(value) === false && isData(value)
  return isOne ? { ...needed, ...value } : value
}

/** A plain object without getters. */
const isData = (value: object): boolean =>
  (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null) &&
  Object.values(Object.getOwnPropertyDescriptors(value)).every((property) => 'value' in property)
