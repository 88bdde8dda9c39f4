// The filter: a text with completion, and below it one chip per condition and per state.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { NamedType } from 'holdfast'
import type { JobRow } from '../../../shared/api.ts'
import { filterKeys, formatFilter, formatToken, parseFilter, type Token } from '../../../shared/filter.ts'
import { type JobState, jobStates } from '../../../shared/states.ts'
import { Icon } from '../../parts/icon.tsx'
import { query, setQuery } from '../../state/location.ts'

const apply = (q: string): void => setQuery({ q: q.trim(), cursor: undefined, focus: undefined })

interface FilterBarProps {
  readonly types: readonly NamedType[]
  /** Jobs that are shown: their search fields are offered. */
  readonly items: readonly JobRow[]
}

export function FilterBar({ types, items }: FilterBarProps) {
  const q = query.value.get('q') ?? ''
  const [text, setText] = useState(q)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (query.peek().has('focus')) input.current?.focus()
  }, [])
  const { tokens, filter, errors } = parseFilter(text)
  return (
    <div class="filter">
      <form
        class="filter-line"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          apply(text)
        }}
      >
        <Icon name="search" />
        <input
          ref={input}
          id="filter"
          type="search"
          list="filter-completions"
          value={text}
          placeholder="state:failed type:mail age>1h customerId:c-42, or an id"
          aria-label="Filter jobs"
          aria-describedby="filter-errors"
          aria-invalid={errors.length > 0}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            // Emptied by its own button.
            if (currentTarget.value === '') apply('')
          }}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <datalist id="filter-completions">
          {completions(text, types, fieldsOf(items)).map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
        <button type="submit">Search</button>
      </form>
      <div id="filter-errors" class="filter-errors" role="status">
        {errors.join(' ')}
      </div>
      <div class="chips">
        {jobStates.map((state) => (
          <StateChip key={state} state={state} tokens={tokens} states={filter.states} />
        ))}
        {tokens.map((token, index) => (
          <TokenChip
            key={`${index} ${formatToken(token)}`}
            token={token}
            onRemove={() => apply(formatFilter(tokens.toSpliced(index, 1)))}
          />
        ))}
      </div>
    </div>
  )
}

interface StateChipProps {
  readonly state: JobState
  readonly tokens: readonly Token[]
  readonly states: readonly JobState[]
}

function StateChip({ state, tokens, states }: StateChipProps) {
  const isOn = states.includes(state)
  const change = (): void => {
    const wanted = isOn ? states.filter((other) => other !== state) : [...states, state]
    const rest = tokens.filter(({ key }) => key !== 'state')
    const token: Token[] = wanted.length === 0 ? [] : [{ key: 'state', operator: ':', value: wanted.join(',') }]
    apply(formatFilter([...token, ...rest]))
  }
  return (
    <button type="button" class={isOn ? `chip state-${state}` : 'chip'} aria-pressed={isOn} onClick={change}>
      <Icon name={state} size={12} />
      {state}
    </button>
  )
}

function TokenChip({ token, onRemove }: { readonly token: Token; readonly onRemove: () => void }) {
  // States have chips of their own.
  if (token.key === 'state') return null
  return (
    <button type="button" class="chip on" onClick={onRemove} aria-label={`Remove the condition ${formatToken(token)}`}>
      <bdi>{formatToken(token)}</bdi>
      <Icon name="close" size={12} />
    </button>
  )
}

/** Search fields and their values, of the jobs that were shown since the page was opened. */
const seenFields = new Map<string, Set<string>>()
const [mostFields, mostValues] = [50, 20]

function fieldsOf(items: readonly JobRow[]): ReadonlyMap<string, ReadonlySet<string>> {
  for (const { search = {} } of items) {
    for (const [field, value] of Object.entries(search)) {
      const values = seenFields.get(field) ?? new Set()
      if (values.size < mostValues) values.add(String(value))
      if (seenFields.size < mostFields) seenFields.set(field, values)
    }
  }
  return seenFields
}

/** A field with the name of a condition is written after where. */
const keyOf = (field: string): string => ((filterKeys as readonly string[]).includes(field) ? `where.${field}` : field)

/** The text with its last word completed: keys, states, types, search fields and their values. */
function completions(
  text: string,
  types: readonly NamedType[],
  fields: ReadonlyMap<string, ReadonlySet<string>>,
): string[] {
  const start = text.lastIndexOf(' ') + 1
  const [before, word] = [text.slice(0, start), text.slice(start)]
  const names = [...new Set(types.map(({ name }) => name))].slice(0, 200)
  const all = [
    ...filterKeys.map((key) => (key === 'age' ? 'age>' : `${key}:`)),
    ...(word.startsWith('state:') ? jobStates.map((state) => `state:${state}`) : []),
    ...(word.startsWith('type:') ? names.map((value) => formatToken({ key: 'type', operator: ':', value })) : []),
    ...(word.startsWith('age>') ? ['age>10m', 'age>1h', 'age>1d'] : []),
    ...[...fields].flatMap(([field, values]) => [
      `${keyOf(field)}:`,
      ...(word.startsWith(`${keyOf(field)}:`)
        ? [...values].map((value) => formatToken({ key: keyOf(field), operator: ':', value }))
        : []),
    ]),
  ]
  return all.filter((option) => option.startsWith(word) && option !== word).map((option) => `${before}${option}`)
}
