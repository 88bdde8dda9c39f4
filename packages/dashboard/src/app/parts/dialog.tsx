// A modal dialogue: the browser keeps the focus inside, and Escape closes it.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** For text that is edited. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} class={isWide ? 'wide' : undefined} onClose={onClose} aria-labelledby="dialog-title">
      <header class="dialog-head">
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => element.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  )
}
