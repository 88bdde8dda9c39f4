// Breadth first over every state that can be reached, so that the first violation has the shortest trace.

import { keyOf, firstState, type State } from './state.ts'
import { type Size, type Step, stepsFrom } from './moves.ts'
import type { Rules } from './storage-rules.ts'

export interface Explored {
  readonly states: number
  readonly transitions: number
  /** Length of the longest of the shortest traces. */
  readonly depth: number
  /** The shortest trace to a violation, with it. */
  readonly counterexample?: { readonly violations: readonly string[]; readonly trace: readonly Step[] } | undefined
  /** The shortest trace to a state, by its number. */
  traceTo(state: number): Step[]
}

/** @param onState called with the number of states, now and then @throws after more than `most` states */
export function explore(
  size: Size,
  rules: Rules,
  most = Infinity,
  onState: (states: number) => void = () => {},
): Explored {
  const first = firstState(size.jobs, size.workers)
  const numbers = new Map([[keyOf(first), 0]])
  const parents = [-1]
  const keys = [keyOf(first)]
  /** Its states are not kept: one is made again from its trace. */
  const traceTo = (number: number): Step[] => {
    const path: number[] = []
    for (let at = number; at > 0; at = parents[at]!) path.push(at)
    const trace: Step[] = []
    let state = first
    for (const at of path.toReversed()) {
      const step = [...stepsFrom(state, size, rules)].find(({ next }) => keyOf(next) === keys[at])!
      trace.push(step)
      state = step.next
    }
    return trace
  }
  let transitions = 0
  let depth = 0
  for (let level: [number, State][] = [[0, first]]; level.length > 0; depth++) {
    const nextLevel: [number, State][] = []
    for (const [number, state] of level) {
      for (const step of stepsFrom(state, size, rules)) {
        transitions++
        if (step.violations.length > 0) {
          // In the names of the trace: the state may be known by those of another.
          const trace = traceTo(number)
          const last = [...stepsFrom(trace.at(-1)?.next ?? first, size, rules)].find(
            ({ violations }) => violations.length > 0,
          )!
          const counterexample = { violations: last.violations, trace: [...trace, last] }
          return { states: numbers.size, transitions, depth, counterexample, traceTo }
        }
        const key = keyOf(step.next)
        if (numbers.has(key)) continue
        const reached = keys.length
        numbers.set(key, reached)
        keys.push(key)
        parents.push(number)
        nextLevel.push([reached, step.next])
        if (reached % 100_000 === 0) onState(reached)
        if (reached >= most) throw new Error(`more than ${most} states`)
      }
    }
    level = nextLevel
  }
  return { states: numbers.size, transitions, depth: depth - 1, traceTo }
}
