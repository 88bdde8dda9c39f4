// Fails with a sentence on a Node.js that is too old. Every entry point imports this file first: modules are evaluated in the
// order of their imports, so no other file runs before the check. The imports of all files are resolved before that, so none
// may name a built-in module or an export of one that older versions lack.

/** The oldest Node.js that Holdfast runs on, as `engines` in package.json says. */
export const oldestNode = '22.18'

const isOlder = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

// Bun and Deno name the Node.js that they are compatible with. It can be older while all that Holdfast needs is there.
const { node, bun, deno } = process.versions
if (bun === undefined && deno === undefined && isOlder(node)) {
  throw new Error(`Holdfast needs Node.js ${oldestNode} or newer, this is ${node}`)
}
