// The first row of a table: a title per column, and one that is not shown for its buttons.

import type { ComponentChildren } from 'preact'

interface TableHeadProps {
  readonly columns: readonly string[]
  /** Columns of figures. */
  readonly right?: readonly string[]
  readonly hasActions?: boolean
  /** Cells before the others. */
  readonly children?: ComponentChildren
}

export function TableHead({ columns, right = [], hasActions = false, children }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {children}
        {columns.map((title) => (
          <th key={title} scope="col" class={right.includes(title) ? 'right' : undefined}>
            {title}
          </th>
        ))}
        {hasActions && (
          <th scope="col">
            <span class="hidden-text">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  )
}
