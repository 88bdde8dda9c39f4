// A field for JSON that says at once what is wrong with it.

/** What is wrong. Undefined: it is JSON. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

interface JsonFieldProps {
  readonly id: string
  readonly label: string
  readonly text: string
  readonly problem: string | undefined
  readonly rows: number
  readonly onText: (text: string) => void
}

export function JsonField({ id, label, text, problem, rows, onText }: JsonFieldProps) {
  return (
    <>
      <label class="field" for={id}>
        {label}
      </label>
      <textarea
        id={id}
        autofocus
        spellcheck={false}
        rows={rows}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <p id={`${id}-problem`} class="bad-text" role="status">
        {problem ?? ''}
      </p>
    </>
  )
}
