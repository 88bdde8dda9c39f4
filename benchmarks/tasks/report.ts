// The tables of a run in Markdown.

import { loadavg } from 'node:os'
import { describeDisk } from '../place.ts'
import { thisMachine } from '../results.ts'
import { median } from '../statistics.ts'
import { cases, type QueueBenchCase } from './cases.ts'
import type { QueueContender } from './contenders.ts'

type Results = ReadonlyMap<QueueContender, ReadonlyMap<string, readonly number[]>>

interface Settings {
  readonly backlog: number
  readonly rounds: number
  readonly command: string
}

export function report(results: Results, settings: Settings): { readonly head: string; readonly tables: string } {
  const contenders = [...results.keys()]
  const drivers = [...new Set(contenders.map(({ driver }) => driver))]
  const tables = drivers.flatMap((driver) => tableOf(results, driver)).join('\n')
  return { head: headOf(contenders, settings), tables }
}

function tableOf(results: Results, driver: string): string[] {
  const here = [...results.keys()].filter((contender) => contender.driver === driver)
  const peer = here.find(({ isPeer }) => isPeer)
  const mine = here.filter(({ isPeer }) => !isPeer)
  const ratios = peer ? mine.map(({ name }) => `${name} ÷ ${peer.name.split(' ')[0]}`) : []
  const titles = ['', 'unit', ...here.map(({ name }) => name), ...ratios]
  return [
    `## ${driver}`,
    '',
    `| ${titles.join(' | ')} |`,
    `|---|---|${titles
      .slice(2)
      .map(() => '--:|')
      .join('')}`,
    ...cases
      .filter(({ name }) => results.get(here[0]!)!.has(name))
      .map((item) => {
        const of = (contender: QueueContender): readonly number[] => results.get(contender)!.get(item.name)!
        const compared = peer ? mine.map((own) => ratio(item, of(own), of(peer))) : []
        const cells = [
          item.name,
          item.unit,
          ...here.map((contender) => figure(median([...of(contender)]))),
          ...compared,
        ]
        return `| ${cells.join(' | ')} |`
      }),
    '',
  ]
}

/** The ratio per round, because a disturbance affects neighbouring measurements alike. */
function ratio({ unit }: QueueBenchCase, own: readonly number[], theirs: readonly number[]): string {
  const times = own.map((value, round) => (unit === 'ms' ? theirs[round]! / value : value / theirs[round]!))
  return `${figure(median(times))} ×`
}

const figure = (value: number): string => {
  if (Number.isNaN(value)) return '–'
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

function headOf(contenders: readonly QueueContender[], { backlog, rounds, command }: Settings): string {
  const { cores, cpu, node } = thisMachine()
  return [
    '# Benchmarks: message queues',
    '',
    '<!-- Written by npm run bench:tasks -- --write. -->',
    '',
    'The message queues of Holdfast and of Fedify, compared. **Read the ratios, not the figures**: above 1 is better, and in each round the',
    'contenders are measured one right after the other. By default Holdfast handles 10 messages at a time, Fedify one.',
    `A large backlog has ${backlog.toLocaleString('en')} messages, half of them due in an hour; for files and Postgres a tenth. Peers are the newest versions with a`,
    'queue on the registry. Ratios below 3 are explained in [Performance limits](limits.md#message-queues).',
    '',
    `${cores} cores, ${cpu}, Node ${node}, servers on the same machine, Redis without persistence, Postgres with fsync; on disk:`,
    `${describeDisk()}; ${rounds} rounds, medians; \`${command}\`. Load average of the last 15 minutes: ${loadavg()[2]!.toFixed(1)}; above the number`,
    'of cores, other programs used the machine, and waits for the disk or another process are overstated.',
    '',
    '| | an acknowledged message survives; one whose worker dies |',
    '|---|---|',
    ...contenders.map(({ driver, name, keeps }) => `| ${driver}: ${name} | ${keeps} |`),
    '',
    '',
  ].join('\n')
}
