// Reads the fields of an interface from its source text, with the sentences of their TSDoc.

export interface FieldDoc {
  readonly name: string
  /** The TSDoc as one line, without its tags. */
  readonly about: string
  /** What follows @default. */
  readonly said: string | undefined
}

/** @param type `Interface`, or `Interface.group` for the fields of a nested object @throws Error if the text has none */
export function fieldDocs(text: string, type: string): FieldDoc[] {
  const [whole, group] = type.split('.')
  const outer = new RegExp(`^(?:export )?interface ${whole}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(text)?.[1]
  const nested = group && new RegExp(`^ {2}readonly ${group}\\??: \\{\\n(.*?)^ {2}\\}`, 'ms').exec(outer ?? '')?.[1]
  const body = group === undefined ? outer : nested?.replaceAll(/^ {2}/gm, '')
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
