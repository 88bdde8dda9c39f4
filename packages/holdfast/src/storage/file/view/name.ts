// File names for ids, types, keys and labels of any content. Two of them never share one, also where the file system does
// not tell upper case from lower; none leaves its folder, and none is a device.

import { createHash } from 'node:crypto'

const longest = 180
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/
const lone = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

export function fileName(text: string): string {
  if (text === '') return '%'
  const name = escapeEdges(
    text
      .split(lone)
      .map(escape)
      .reduce(join(text.match(lone) ?? []), ''),
  )
  if (name.length <= longest) return device.test(name) ? hex(name.charCodeAt(0)) + name.slice(1) : name
  return `${name.slice(0, 100)}~${createHash('sha256').update(name).digest('hex')}`
}

/** What is no character has no bytes: it is named by its unit. */
const join =
  (units: readonly string[]) =>
  (name: string, part: string, index: number): string =>
    index === 0 ? part : `${name}%u${units[index - 1]!.charCodeAt(0).toString(16)}${part}`

function escape(text: string): string {
  if (/^[a-z0-9_.-]*$/.test(text)) return text
  let name = ''
  for (const byte of Buffer.from(text)) {
    const char = String.fromCharCode(byte)
    name += /[a-z0-9_.-]/.test(char) ? char : hex(byte)
  }
  return name
}

const escapeEdges = (name: string): string => name.replace(/^\.|\.$/g, '%2e')

const hex = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`
