// The whole screen of a terminal. Only lines that changed are written. Invariant: the screen is restored however the process ends.

import type { Host } from '../host.ts'
import { type Part, render } from '../text.ts'

// The alternate screen, and no cursor; and back.
const [enter, leave] = ['\x1b[?1049h\x1b[?25l\x1b[2J', '\x1b[?25h\x1b[?1049l']

export class Screen {
  readonly #host: Pick<Host, 'write' | 'onCrash'>
  readonly #colors: boolean
  #lines: readonly string[] = []
  #size = ''
  #restore: (() => void) | undefined

  constructor(host: Pick<Host, 'write' | 'onCrash'>, colors: boolean) {
    this.#host = host
    this.#colors = colors
  }

  open(): void {
    this.#host.write(enter)
    this.#restore = this.#host.onCrash(() => this.#host.write(leave))
  }

  close(): void {
    this.#restore?.()
    this.#host.write(leave)
  }

  /** The line that keys act on is inverse, also with NO_COLOR. */
  draw(lines: readonly Part[][], size: { readonly columns: number; readonly rows: number }): void {
    const drawn = lines.map((parts) => render(parts, this.#colors, 'inverse'))
    const key = `${size.columns}x${size.rows}`
    const isNew = key !== this.#size
    const changed = drawn.flatMap((line, row) =>
      isNew || line !== this.#lines[row] ? [`\x1b[${row + 1};1H${line}\x1b[K`] : [],
    )
    if (isNew) changed.unshift('\x1b[2J')
    if (changed.length > 0) this.#host.write(changed.join(''))
    this.#lines = drawn
    this.#size = key
  }
}
