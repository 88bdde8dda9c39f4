// The output: a live board in a terminal, plain lines elsewhere.

import type { Queue } from 'holdfast'
import type { Mail } from './send-mail.ts'

export interface View {
  note(line: string): void
  /** Adds the mails that earlier runs sent or gave up. */
  carryOn(sent: number, refused: number): void
  close(): void
}

interface Tally {
  sent: number
  again: number
  refused: number
}

export function watch(queue: Queue<Mail>, total: number, out: NodeJS.WriteStream): View {
  const tally: Tally = { sent: 0, again: 0, refused: 0 }
  const screen = out.isTTY ? board(tally, total, out) : lines(tally, total, out)
  queue.on('completed', () => {
    tally.sent++
    screen.progress()
  })
  queue.on('failing', (id, error, attempt) => {
    tally.again++
    screen.note(`${id}: attempt ${attempt} failed (${error.message}), tried again later`)
  })
  queue.on('failed', (id, error) => {
    tally.refused++
    screen.note(`${id}: given up (${error.lastError.message})`)
  })
  const carryOn = (sent: number, refused: number): void => {
    tally.sent += sent
    tally.refused += refused
    screen.note(`carrying on: ${sent} were sent before, ${refused} given up`)
  }
  return { ...screen, carryOn }
}

interface Screen extends Omit<View, 'carryOn'> {
  progress(): void
}

function lines(tally: Tally, total: number, out: NodeJS.WriteStream): Screen {
  const note = (line: string): void => void out.write(`${line}\n`)
  return {
    note,
    progress: () => {
      if (tally.sent % 10 === 0) note(`sent ${tally.sent} of ${total}`)
    },
    close: () => {},
  }
}

function board(tally: Tally, total: number, out: NodeJS.WriteStream): Screen {
  const notes: string[] = []
  const shown = 6
  let drawn = 0
  const draw = (): void => {
    const width = Math.max(20, Math.min(60, out.columns - 30))
    const done = Math.round((width * (tally.sent + tally.refused)) / total)
    const rows = [
      `  ${'█'.repeat(done)}${'░'.repeat(width - done)}  ${tally.sent + tally.refused}/${total}`,
      `  sent ${tally.sent}   tried again ${tally.again}   given up ${tally.refused}`,
      '',
      ...notes.slice(-shown).map((line) => `  ${line.slice(0, out.columns - 4)}`),
    ]
    // Moves up to the start of the last drawing, and overwrites it.
    out.write(`${drawn > 0 ? `\x1b[${drawn}A` : ''}\x1b[J${rows.join('\n')}\n`)
    drawn = rows.length
  }
  const timer = setInterval(draw, 80)
  draw()
  return {
    note: (line) => void notes.push(line),
    progress: () => {},
    close: () => {
      clearInterval(timer)
      draw()
    },
  }
}
