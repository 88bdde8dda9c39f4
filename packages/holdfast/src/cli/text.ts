// Text for a terminal. Invariant: a text is written only through render(), which escapes every character that a terminal would
// act on. So an id, an error or a log line from a storage cannot move the cursor, change colours or hide other text.

/** A piece of a line: plain, or with a style. */
export type Part = string | { readonly text: string; readonly style: Style }
export type Style = keyof typeof styles

/** SGR codes that begin a style. */
const styles = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36', inverse: '7' } as const

/** Control characters, line separators, direction marks and invisible characters. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b\u2060\ufeff\u{e0000}-\u{e007f}]/gu

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Returns the text with such characters as escapes, in one line. */
export function escaped(text: string): string {
  return text.toWellFormed().replace(unsafe, (character) => named[character] ?? escapeOf(character))
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0)!.toString(16)
  return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`
}

/** The same for JSON, which stays valid. JSON.stringify() escapes the C0 characters only. */
export function escapedJson(json: string): string {
  return json.replace(unsafe, (character) =>
    // Line breaks of the layout stay: those of values are escaped already.
    character === '\n' ? character : Array.from(character.split(''), codeUnit).join(''),
  )
}

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

export const textOf = (part: Part): string => (typeof part === 'string' ? part : part.text)

/** One line for the terminal, without its end. @param always a style that is no color, and so is written without colors, too */
export function render(parts: readonly Part[], colors: boolean, always?: 'inverse'): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return escaped(part)
      const isStyled = part.text !== '' && (colors || part.style === always)
      return isStyled ? `\x1b[${styles[part.style]}m${escaped(part.text)}\x1b[0m` : escaped(part.text)
    })
    .join('')
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const isPlain = /^[ -~]*$/
/** Characters of two columns: emoji, and the East Asian wide ones. */
const isWide =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|\p{Regional_Indicator}{2}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u

/** Columns that an escaped text takes. */
export function widthOf(text: string): number {
  if (isPlain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += isWide.test(segment) ? 2 : 1
  return width
}

/** Returns at most so many columns of an escaped text; `…` stands for the rest. */
export function cut(text: string, columns: number): string {
  // A grapheme may have many code units, but a text this long is never needed whole.
  const head = text.length > 64 * (columns + 1) ? text.slice(0, 64 * (columns + 1)) : text
  if (head.length === text.length && widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of graphemes.segment(head)) {
    const next = isWide.test(segment) ? 2 : 1
    if (width + next > columns - 1) break
    kept += segment
    width += next
  }
  return columns < 1 ? '' : `${kept}…`
}
