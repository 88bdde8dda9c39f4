// Starts a child process for one measurement and waits for its answer.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Variant } from './case.ts'
import type { Answer, Task } from './child.ts'
import { newWorkingDirectory, removeDirectory } from './place.ts'

const child = fileURLToPath(new URL('child.ts', import.meta.url))

/** Compiled sources, for the next process: to compile them takes 0.3 s of CPU, three times as long as the rest of a start. */
const compiled = fileURLToPath(new URL('../node_modules/.cache/benchmarks', import.meta.url))

/**
 * The same flags for all contenders. --expose-gc is for what is measured in bytes or at rest: a forced collection before a rate is measured
 * would throw away the compiled code of all that was closed by then.
 */
const execArgv = ['--conditions=@holdfast/source', '--expose-gc']

export async function measure(task: Task, variant: Variant): Promise<Answer> {
  const cwd = newWorkingDirectory()
  try {
    return await measureIn(cwd, task, variant)
  } finally {
    removeDirectory(cwd)
  }
}

/** Resolves once the process has ended. */
async function measureIn(cwd: string, task: Task, variant: Variant): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  // The warm-up, the filling and the final check take time besides the measurement.
  const seconds = 120 + 6 * task.limits.seconds + (variant.fillSeconds ?? 0)
  const process = fork(child, [JSON.stringify(task)], {
    cwd,
    // Worker processes have it, too.
    env: { ...globalThis.process.env, NODE_COMPILE_CACHE: compiled },
    execArgv: [...execArgv, ...(variant.execArgv ?? [])],
    timeout: seconds * 1_000,
    killSignal: 'SIGKILL',
  })
  let answer: Answer | undefined
  const fail = (reason: string): void => resolve(answer ?? { kind: 'invalid', reason })
  process.on('message', (message) => (answer = message as Answer))
  process.on('error', (error) => fail(error.message))
  process.on('exit', (code, signal) =>
    fail(signal ? `the process was ended by ${signal}` : `the process ended with code ${code} and no answer`),
  )
  return promise
}
