// The findings of doctor(), on the first screen: the most severe one, and how many more there are. Types without workers are left out: the
// sentence above says that.

import type { FindingsPage } from '../../../shared/api.ts'
import { Icon } from '../../parts/icon.tsx'
import { useLive } from '../../state/live.ts'
import { hrefOf } from '../../state/location.ts'

export function FindingStrip() {
  const { answer } = useLive<FindingsPage>('findings')
  const [first, ...others] = (answer?.data.findings ?? []).filter(({ code }) => code !== 'no_worker')
  if (!first) return null
  return (
    <a class={`finding-strip severity-${first.severity}`} href={hrefOf('/findings')}>
      <Icon name="warning" />
      <bdi>{first.sentence}</bdi>
      {others.length > 0 && <span class="strip-more">and {others.length} more</span>}
    </a>
  )
}
