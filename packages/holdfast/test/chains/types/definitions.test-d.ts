// What the compiler guarantees of job chains: definitions. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import { createJobTypeRegistry, defineJobTypes, type JobTypeChecks } from 'holdfast/chains'

// ── 4. References: to types that are there ───────────────────────────────────────────────────────────────────────────

export const point4 = [
  defineJobTypes<{ a: { entry: true; input: 1; continueWith: { typeName: 'b' } }; b: { input: 2; output: 3 } }>(),
  // @ts-expect-error continueWith an undeclared type
  defineJobTypes<{ a: { entry: true; input: 1; continueWith: { typeName: 'b' } } }>(),
  // @ts-expect-error one of the union
  defineJobTypes<{ a: { entry: true; input: 1; output: 1; continueWith: { typeName: 'a' | 'b' } } }>(),
  defineJobTypes<{ a: { entry: true; input: 1; continueWith: { input: 2 } }; b: { input: 2; output: 3 } }>(),
  // @ts-expect-error a shape that no input has
  defineJobTypes<{ a: { entry: true; input: 1; continueWith: { input: 3 } }; b: { input: 2; output: 3 } }>(),
  defineJobTypes<{
    a: { input: 1; output: 1; blockers: [{ typeName: 'b' }] }
    b: { entry: true; input: 2; output: 3 }
  }>(),
  // @ts-expect-error a blocker that starts no chain
  defineJobTypes<{ a: { input: 1; output: 1; blockers: [{ typeName: 'b' }] }; b: { input: 2; output: 3 } }>(),
  // @ts-expect-error an undeclared blocker
  defineJobTypes<{
    a: { input: 1; output: 1; blockers: [{ typeName: 'c' }] }
    b: { entry: true; input: 2; output: 3 }
  }>(),
  // @ts-expect-error in a rest, too
  defineJobTypes<{
    a: { input: 1; output: 1; blockers: { typeName: 'c' }[] }
    b: { entry: true; input: 2; output: 3 }
  }>(),
  defineJobTypes<{ a: { input: 1; output: 1; blockers: [{ input: 2 }] }; b: { entry: true; input: 2; output: 3 } }>(),
  // @ts-expect-error a shape that no entry type has
  defineJobTypes<{ a: { input: 1; output: 1; blockers: [{ input: 1 }] }; b: { entry: true; input: 2; output: 3 } }>(),
  // @ts-expect-error neither a name nor a shape
  defineJobTypes<{ a: { entry: true; input: 1; continueWith: { name: 'b' } }; b: { input: 2; output: 3 } }>(),
]

// ── 5. Definitions that can be ───────────────────────────────────────────────────────────────────────────────────────

declare const checks: JobTypeChecks

interface Declared {
  a: { entry: true; input: null; output: null }
}

export const point5 = [
  defineJobTypes<Declared>(),
  defineJobTypes<{ a: { entry: true; input: null; output: null } }>(),
  defineJobTypes<{ a: { entry: true; input: unknown; output: unknown } }>(),
  // @ts-expect-error an input of void
  defineJobTypes<{ a: { entry: true; input: void; output: null } }>(),
  // @ts-expect-error an input that may be undefined
  defineJobTypes<{ a: { entry: true; input: string | undefined; output: null } }>(),
  // @ts-expect-error no input
  defineJobTypes<{ a: { entry: true; output: null } }>(),
  // @ts-expect-error an output of void
  defineJobTypes<{ a: { entry: true; input: null; output: void } }>(),
  // @ts-expect-error an output that is undefined
  defineJobTypes<{ a: { entry: true; input: null; output: undefined } }>(),
  // @ts-expect-error neither output nor continueWith
  defineJobTypes<{ a: { entry: true; input: null } }>(),
  // @ts-expect-error an unknown property
  defineJobTypes<{ a: { entry: true; input: null; output: null; blocker: [] } }>(),
  // @ts-expect-error entry is true, or not there
  defineJobTypes<{ a: { entry: false; input: null; output: null } }>(),
  createJobTypeRegistry<{ a: { entry: true; input: null; output: null } }>(checks),
  // @ts-expect-error the same holds for checks of one's own
  createJobTypeRegistry<{ a: { entry: true; input: void; output: null } }>(checks),
]
