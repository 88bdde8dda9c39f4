// The logs of a run for volume: a line for each batch, written at once, so that kill -9 loses none. A job is a number.
//
//   p worker-0.3              the process that writes the lines after this one
//   a 0 500 / k 0 500         jobs 0 … 499 were asked for, were acknowledged
//   c 1234.5 17#1 18#2        a claim was answered: attempt 1 of job 17, attempt 2 of job 18
//   s 1234.5 17#1             told: the completion was recorded
//   f 1234.5 18#2             told: another outcome (a retry) was recorded
//   r 1234.5 18#2             told: the outcome was refused by its fence

import { createReadStream, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { machineMs } from '../log.ts'

export interface JobAttempt {
  readonly job: number
  readonly attempt: number
}

type BatchMark = 'c' | 's' | 'f' | 'r'

export type VolumeEntry =
  | { readonly what: 'process'; readonly process: string }
  | { readonly what: 'asked' | 'acked'; readonly from: number; readonly to: number }
  | { readonly what: BatchWord; readonly process: string; readonly at: number; readonly runs: readonly JobAttempt[] }

type BatchWord = 'claimed' | 'completed' | 'retried' | 'refused'

const words: Readonly<Record<BatchMark, BatchWord>> = { c: 'claimed', s: 'completed', f: 'retried', r: 'refused' }

export class VolumeLog {
  readonly #descriptor: number

  constructor(file: string, process: string) {
    this.#descriptor = openSync(file, 'a')
    this.#write(`p ${process}`)
  }

  span(mark: 'a' | 'k', from: number, to: number): void {
    this.#write(`${mark} ${from} ${to}`)
  }

  batch(mark: BatchMark, runs: readonly JobAttempt[]): void {
    if (runs.length === 0) return
    this.#write(`${mark} ${machineMs().toFixed(1)} ${runs.map(({ job, attempt }) => `${job}#${attempt}`).join(' ')}`)
  }

  #write(line: string): void {
    writeSync(this.#descriptor, `${line}\n`)
  }
}

/** Reads a log line by line: it may be larger than memory. */
export async function* readVolumeLog(file: string): AsyncGenerator<VolumeEntry> {
  let process = ''
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const entry = entryOf(line, process)
    if (entry?.what === 'process') process = entry.process
    if (entry) yield entry
  }
}

export function entryOf(line: string, process: string): VolumeEntry | undefined {
  const [mark = '', first = '', ...rest] = line.split(' ')
  if (mark === 'p') return { what: 'process', process: first }
  if (mark === 'a' || mark === 'k')
    return { what: mark === 'a' ? 'asked' : 'acked', from: Number(first), to: Number(rest[0]) }
  if (!(mark in words)) return undefined
  return { what: words[mark as BatchMark], process, at: Number(first), runs: rest.map(runOf) }
}

function runOf(text: string): JobAttempt {
  const end = text.indexOf('#')
  return { job: Number(text.slice(0, end)), attempt: Number(text.slice(end + 1)) }
}
