// Icons as strokes on a grid of 16: no font, no file of their own. They are decoration; a label stands beside each.

const paths = {
  overview: 'M2 9h4V2H2zM10 14h4V7h-4zM2 14h4v-2H2zM10 4h4V2h-4z',
  jobs: 'M2 4h12M2 8h12M2 12h8',
  schedules: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5',
  types: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  peers:
    'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM2.5 8h11M8 2.5c2 1.6 2.6 3.4 2.6 5.5S10 11.9 8 13.5M8 2.5C6 4.1 5.4 5.9 5.4 8S6 11.9 8 13.5',
  workers: 'M3 3h10v4H3zM3 9h10v4H3zM5.5 5h.01M5.5 11h.01',
  findings: 'M8 2.5L14.5 13h-13zM8 6.5v3M8 11.5h.01',
  audit: 'M4 2h8v12H4zM6.5 5h3M6.5 8h3M6.5 11h2',
  limits: 'M2.5 12a6 6 0 1 1 11 0M8 10l2.5-4',
  scheduled: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5',
  blocked: 'M4.5 7.5h7v5h-7zM6 7.5V5.5a2 2 0 0 1 4 0v2',
  queued: 'M3 5h10M3 8h10M3 11h6',
  processing: 'M5 3.5v9l7-4.5z',
  failing: 'M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3',
  completed: 'M3.5 8.5l3 3 6-7',
  failed: 'M4 4l8 8M12 4l-8 8',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5L14 14',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  system: 'M2.5 3h11v8h-11zM6 13.5h4',
  warning: 'M8 2.5L14.5 13h-13zM8 6.5v3M8 11.5h.01',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  more: 'M3.5 7.3a.7.7 0 1 0 0 1.4.7.7 0 0 0 0-1.4zM8 7.3a.7.7 0 1 0 0 1.4.7.7 0 0 0 0-1.4zM12.5 7.3a.7.7 0 1 0 0 1.4.7.7 0 0 0 0-1.4z',
  close: 'M4 4l8 8M12 4l-8 8',
  keyboard: 'M1.5 4h13v8h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.5h6',
} as const

export type IconName = keyof typeof paths

/** For a drawing that has icons inside. */
export const iconPath = (name: IconName): string => paths[name]

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
