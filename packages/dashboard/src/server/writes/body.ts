// Parts of the body of a write. What a field holds is checked again by the admin handle; here it is checked that it is there.

import type { NamedJob, NamedSchedule, NamedType } from 'holdfast'
import { largestPage } from '../../shared/api.ts'
import { invalid } from '../http/errors.ts'

type Body = Readonly<Record<string, unknown>>

/** @throws RequestError 400 */
export function text(body: Body, key: string): string {
  const value = body[key]
  if (typeof value !== 'string') throw invalid(`${key}: expected a text.`)
  return value
}

export const optionalText = (body: Body, key: string): string | undefined =>
  body[key] === undefined ? undefined : text(body, key)

/** @throws RequestError 400 */
export function number(body: Body, key: string): number {
  const value = body[key]
  if (typeof value !== 'number') throw invalid(`${key}: expected a number.`)
  return value
}

export const optionalNumber = (body: Body, key: string): number | undefined =>
  body[key] === undefined ? undefined : number(body, key)

/** A value as JSON in a text. @throws RequestError 400 */
export function jsonOf(body: Body, key: string): unknown {
  try {
    return JSON.parse(text(body, key))
  } catch (error) {
    throw error instanceof SyntaxError ? invalid(`${key}: it is not JSON: ${error.message}.`) : error
  }
}

/** @throws RequestError 400 */
export function flag(body: Body, key: string): boolean {
  const value = body[key] ?? false
  if (typeof value !== 'boolean') throw invalid(`${key}: expected true or false.`)
  return value
}

/** @throws RequestError 400 */
export function jobList(body: Body): NamedJob[] {
  const { jobs } = body
  if (!Array.isArray(jobs) || jobs.length === 0 || jobs.length > largestPage) {
    throw invalid(`jobs: expected a list of 1 … ${largestPage} jobs.`)
  }
  return jobs.map((job: unknown) => {
    const fields = objectOf('jobs', job)
    return { face: text(fields, 'face'), name: text(fields, 'name'), id: text(fields, 'id') }
  })
}

export const typeOf = (body: Body): NamedType => ({ face: text(body, 'face'), name: text(body, 'name') })

export const scheduleOf = (body: Body): NamedSchedule => ({
  face: text(body, 'face'),
  owner: text(body, 'owner'),
  name: text(body, 'name'),
})

/** @throws RequestError 400 */
export function objectOf(name: string, value: unknown): Body {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw invalid(`${name}: expected an object.`)
  return value as Body
}
