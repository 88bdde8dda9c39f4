// Links to views.

import type { NamedJob, NamedType } from 'holdfast'
import { formatFilter, type Token } from '../../shared/filter.ts'
import { hrefOf, to } from '../state/location.ts'

const token = (key: string, value: string): Token => ({ key, operator: ':', value })

export function typeFilter({ face, name }: NamedType, states: readonly string[] = []): string {
  const tokens = [token('type', name), ...(face === '' ? [] : [token('face', face)])]
  return formatFilter(states.length === 0 ? tokens : [token('state', states.join(',')), ...tokens])
}

export const jobsHref = (q: string): string => hrefOf(to('/jobs', { q }))
export const jobPath = ({ face, name, id }: NamedJob): string => to('/job', { face, name, id })
export const jobHref = (job: NamedJob): string => hrefOf(jobPath(job))
