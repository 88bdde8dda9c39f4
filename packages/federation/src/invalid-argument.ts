// The error of an option or argument that has an impossible value.

/** @param got the value; left out where it may be a secret. Of other values than text, the message has the type only. */
export function invalidArgument(name: string, expected: string, ...got: readonly [value?: unknown]): TypeError {
  const shown = got.length === 0 ? '' : `, got ${typeof got[0] === 'string' ? JSON.stringify(got[0]) : typeof got[0]}`
  return Object.assign(new TypeError(`${name}: expected ${expected}${shown}`), { code: 'INVALID_ARGUMENT' })
}
