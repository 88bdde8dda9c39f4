// File names for ids, types, keys and labels of any content. Two of them never share a name, even on a file system that
// ignores case. No name leaves its folder, and no name is a device.

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

/** A lone surrogate has no bytes in UTF-8: its code unit is written. */
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
