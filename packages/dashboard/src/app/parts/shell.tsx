// The frame of every page: navigation with counts, the theme, the keyboard help, and a footer that says how old the data are.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Summary } from '../../shared/api.ts'
import { time } from '../lib/clock.ts'
import { duration, number, shortNumber } from '../lib/words.ts'
import { connection, type Live, pageCostMs, useLive } from '../state/live.ts'
import { useKeys } from '../state/keys.ts'
import { hrefOf, navigate, path, to } from '../state/location.ts'
import { session } from '../state/session.ts'
import { nextTheme, theme } from '../state/theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { KeyboardHelp } from './keyboard-help.tsx'
import { Notices } from './notices.tsx'

interface Entry {
  readonly name: IconName
  readonly title: string
  readonly path: string
  readonly key: string
}

const entries: readonly Entry[] = [
  { name: 'overview', title: 'Overview', path: '/', key: 'o' },
  { name: 'jobs', title: 'Jobs', path: '/jobs', key: 'j' },
  { name: 'types', title: 'Types', path: '/types', key: 't' },
  { name: 'workers', title: 'Workers', path: '/workers', key: 'w' },
  { name: 'schedules', title: 'Schedules', path: '/schedules', key: 's' },
  { name: 'limits', title: 'Limits', path: '/limits', key: 'l' },
  { name: 'findings', title: 'Findings', path: '/findings', key: 'f' },
  { name: 'audit', title: 'Audit', path: '/audit', key: 'a' },
]
/** The first ones have a place in the bar of a narrow screen. */
const inBar = 4
const peersEntry: Entry = { name: 'peers', title: 'Peers', path: '/peers', key: 'p' }

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const summary = useLive<Summary>('summary')
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isMoreOpen, setMoreOpen] = useState(false)
  const shown = session.value?.hasPeers ? [...entries, peersEntry] : entries
  useKeys({
    ...Object.fromEntries(shown.map((entry) => [`g ${entry.key}`, () => navigate(entry.path)])),
    '?': () => setHelpOpen(true),
    '/': () =>
      path.peek() === '/jobs' ? document.querySelector<HTMLElement>('#filter')?.focus() : navigate('/jobs?focus=1'),
  })
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <nav class="nav" aria-label="Views">
        <a class="brand" href={hrefOf('/')}>
          <span class="brand-mark" aria-hidden="true">
            <svg viewBox="0 0 32 32" width="24" height="24">
              <rect width="32" height="32" rx="7" />
              <path d="M10 8v16M22 8v16M10 16h12" />
            </svg>
          </span>
          <span class="brand-name">Holdfast</span>
        </a>
        {shown.slice(0, inBar).map((entry) => (
          <NavEntry key={entry.path} entry={entry} summary={summary} />
        ))}
        <button
          type="button"
          class={
            shown.slice(inBar).some(isCurrent) ? 'plain nav-button more-button current' : 'plain nav-button more-button'
          }
          aria-expanded={isMoreOpen}
          aria-controls="nav-more"
          onClick={() => setMoreOpen(!isMoreOpen)}
        >
          <Icon name="more" />
          <span class="nav-title">More</span>
        </button>
        <div
          id="nav-more"
          class={isMoreOpen ? 'nav-more open' : 'nav-more'}
          onClick={(event) => (event.target as Element).closest('a') && setMoreOpen(false)}
          onKeyDown={({ key }) => key === 'Escape' && setMoreOpen(false)}
        >
          {shown.slice(inBar).map((entry) => (
            <NavEntry key={entry.path} entry={entry} summary={summary} />
          ))}
          <NavFoot onHelp={() => setHelpOpen(true)} />
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {children}
        <Footer live={summary} />
      </main>
      <Notices />
      {isHelpOpen && <KeyboardHelp onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

function NavFoot({ onHelp }: { readonly onHelp: () => void }) {
  return (
    <div class="nav-foot">
      <button type="button" class="plain nav-button" onClick={nextTheme} aria-label={`${theme.value} theme`}>
        <Icon name={theme.value === 'light' ? 'sun' : theme.value === 'dark' ? 'moon' : 'system'} />
        <span class="nav-title">{theme.value} theme</span>
      </button>
      <button type="button" class="plain nav-button help-button" onClick={onHelp} aria-label="Keyboard">
        <Icon name="keyboard" />
        <span class="nav-title">Keyboard</span>
      </button>
      <span class="actor" title="You are signed in as">
        {session.value?.actor}
      </span>
    </div>
  )
}

const isCurrent = (entry: Entry): boolean =>
  entry.path === '/' ? path.value === '/' : path.value.startsWith(entry.path.replace(/s$/, ''))

function NavEntry({ entry, summary: { answer } }: { readonly entry: Entry; readonly summary: Live<Summary> }) {
  const totals = answer?.data.totals
  const count = entry.name === 'jobs' ? totals?.due : entry.name === 'workers' ? totals?.workers : undefined
  return (
    <a class="nav-entry" href={hrefOf(to(entry.path))} aria-current={isCurrent(entry) ? 'page' : undefined}>
      <Icon name={entry.name} />
      <span class="nav-title">{entry.title}</span>
      {count !== undefined && count > 0 && (
        <span class="nav-count num" title={entry.name === 'jobs' ? 'due now' : 'alive'}>
          {shortNumber(count)}
        </span>
      )}
    </a>
  )
}

const connections = {
  open: 'Live',
  polling: 'Every 5 s, because no event stream comes through',
  down: 'The server does not answer. Trying again',
  hidden: 'Paused while the page is hidden',
} as const

/** Counts are read every 5 s: older ones say so. */
const oldMs = 15_000

const ageText = (age: number): string => (age < 1_000 ? 'just now' : `${duration(Math.floor(age / 1_000) * 1_000)} ago`)

function Footer({ live: { answer } }: { readonly live: Live<Summary> }) {
  const age = answer ? Math.max(0, time.value - answer.at) : 0
  return (
    <footer class={age > oldMs ? 'foot old' : 'foot'}>
      <span class={`dot ${connection.value}`} aria-hidden="true" />
      <span>{connections[connection.value]}</span>
      {answer && (
        <span>
          {answer.countMs === undefined
            ? 'the jobs are being counted'
            : `counts read ${ageText(age)} in ${number(answer.countMs)} ms`}
          , other reads of this page took {number(pageCostMs.value)} ms, for all viewers
        </span>
      )}
    </footer>
  )
}
