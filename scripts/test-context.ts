// Imported by each process of a test run, before node:test is loaded. The runner finds the test that code belongs to by async hooks,
// which call JavaScript for every promise that begins and ends: about a tenth of the CPU time of these processes. An
// AsyncLocalStorage knows the same, and costs nothing per promise: the runner gets one by the names under which it looks for the hooks.
// Errors that reach no test fail the run, as before.

import type * as AsyncHooks from 'node:async_hooks'
import { createRequire } from 'node:module'

// Not imported: the names of a module that is imported cannot be set.
const hooks = createRequire(import.meta.url)('node:async_hooks') as {
  -readonly [Name in keyof typeof AsyncHooks]: (typeof AsyncHooks)[Name]
}
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks
/** The id of the test, suite or hook that runs. */
const running = new AsyncLocalStorage<number>()

/** Tests, suites and their hooks extend it. */
hooks.AsyncResource = class extends AsyncResource {
  override runInAsyncScope<This, Result>(
    fn: (this: This, ...args: any[]) => Result,
    thisArg?: This,
    ...args: any[]
  ): Result {
    // Inside: the scope has the context in which the test was declared.
    const run = (): Result => running.run(this.asyncId(), () => fn.apply(thisArg as This, args))
    return super.runInAsyncScope(run)
  }
}
hooks.executionAsyncId = () => running.getStore() ?? executionAsyncId()
hooks.createHook = (options) => createHook({ ...options, trackPromises: false } as AsyncHooks.HookCallbacks)
