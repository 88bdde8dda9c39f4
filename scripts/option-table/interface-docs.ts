// Reads the fields of an interface from its source text, with the sentences of their TSDoc.

export interface FieldDoc {
  readonly name: string
  /** The TSDoc as one line, without its tags. */
  readonly about: string
  /** What follows @default. */
  readonly said: string | undefined
}

/** @throws Error if the text has no such interface */
export function fieldDocs(text: string, type: string): FieldDoc[] {
  const body = new RegExp(`^export interface ${type}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(text)?.[1]
  if (body === undefined) throw new Error(`no interface ${type}`)
  const fields = body.matchAll(/(?:^ {2}\/\*\*((?:(?!\*\/).)*)\*\/\n)?^ {2}readonly (\w+)\??:/gms)
  return [...fields].map(([, doc = '', name]) => {
    const line = doc
      .replaceAll(/^\s*\*/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
    return {
      name: name!,
      about: line.replace(/\s*@(default|throws|typeParam)\b.*$/, ''),
      said: /@default (.+?)(?: @|$)/.exec(line)?.[1],
    }
  })
}
