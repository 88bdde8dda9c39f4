// The seeds that found a violation once, or came close to one. Every run replays them first.

import { readFileSync } from 'node:fs'
import type { Reduction } from './world/setup.ts'

export interface StoredSeed extends Reduction {
  readonly seed: number
  /** What it found. */
  readonly found: string
}

export function storedSeeds(): StoredSeed[] {
  return JSON.parse(readFileSync(new URL('seeds.json', import.meta.url), 'utf8')) as StoredSeed[]
}
