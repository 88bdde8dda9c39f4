// Runs a fuzzer: an input may be accepted, or refused with an error that Holdfast makes. Anything else is a defect.

import { inspect } from 'node:util'
import { UsageError } from '../../src/cli/usage-error.ts'
import { isRefusal } from '../../src/errors.ts'
import { type Random, randomOf } from './mutate.ts'

export interface Target {
  /** Makes one input. */
  input(random: Random): unknown
  /** Rejects for a defect, or with a refusal. */
  run(input: unknown): Promise<void> | void
  close?(): Promise<void>
}

/** Thrown by a target that found a defect by itself. */
export class Defect extends Error {}

interface Found {
  readonly seed: number
  readonly input: string
  readonly error: string
}

export interface Result {
  readonly runs: number
  readonly refused: number
  readonly found: readonly Found[]
  /** Longest run of one input, in ms, with its seed. */
  readonly slowest: { readonly ms: number; readonly seed: number }
}

/** Long enough for a loaded machine: a target that waits longer hangs. */
const hangMs = 60_000

/** Each run has a seed of its own, from `from` on. @param most defects to find before it ends */
export async function fuzz(open: () => Target | Promise<Target>, runs: number, from = 1, most = 10): Promise<Result> {
  const target = await open()
  const found: Found[] = []
  let [done, refused] = [0, 0]
  let slowest = { ms: 0, seed: from }
  try {
    for (; done < runs && found.length < most; done++) {
      const seed = from + done
      const input = target.input(randomOf(seed))
      const start = performance.now()
      try {
        await bounded(target.run(input))
      } catch (error) {
        if (!(error instanceof Defect) && (isRefusal(error) || error instanceof UsageError)) refused++
        else found.push({ seed, input: shown(input), error: shown(error) })
      }
      const ms = performance.now() - start
      if (ms > slowest.ms) slowest = { ms, seed }
    }
  } finally {
    await target.close?.()
  }
  return { runs: done, refused, found, slowest }
}

async function bounded(running: Promise<void> | void): Promise<void> {
  if (running === undefined) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Defect(`no answer within ${hangMs} ms`)), hangMs)
  })
  try {
    await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}

const shown = (value: unknown): string => inspect(value, { depth: 3, maxStringLength: 500 }).slice(0, 1_500)
