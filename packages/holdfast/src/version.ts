// The version of the package, as workers show it. A test compares it with package.json.

export const version = '0.1.0'
