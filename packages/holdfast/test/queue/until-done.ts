import assert from 'node:assert/strict'

/** An offer stands for half a second: on a busy machine a job may come too late for it, and is tried again. */
export async function untilDone(
  what: string,
  wanted: number,
  tries: (number: number) => Promise<boolean>,
): Promise<void> {
  let done = 0
  for (let number = 0; done < wanted; number++) {
    assert.ok(number < 100, `${what}: ${done} of ${number} tries`)
    if (await tries(number)) done++
  }
}
