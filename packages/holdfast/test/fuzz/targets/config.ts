import { defineConfig, MemoryStorage, Queue } from 'holdfast'
import { createTasks } from 'holdfast/tasks'
import type { Target } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const config = ['{"workers":[],"graceMs":5,"healthPort":8080,"healthHost":"127.0.0.1"}', '{"workers":[{}],"graceMs":0}']
const queue = [
  '{"name":"mail","maxAttempts":3,"backoff":{"type":"exponential","delayMs":5,"factor":2,"jitter":0.1},"leaseMs":500}',
  '{"retention":{"completed":{"ageMs":5,"count":3}},"limits":{"concurrency":3,"rate":{"limit":5,"perMs":10},"group":{"limit":1}}}',
  '{"schedules":{"a":{"everyMs":60000,"payload":1}},"searchFields":{"a":"string"},"resultTTL":5,"blockTimeout":1}',
  '{"concurrency":5,"pollMs":100,"presenceMs":false,"prefetchMs":20,"visibilityTimeout":5,"release":3}',
]
const tasks = [
  '{"maxAttempts":3,"taskDeduplicationTtl":"PT1H","taskDeduplicationFallback":"closed","kvPrefixes":{"taskDeduplication":["a"]}}',
]

/** Options of the configuration file, of a Queue and of tasks, from changed JSON. */
export const configuration = (): Target => {
  const storage = new MemoryStorage()
  const kinds = [
    { valid: config, make: (options: object) => void defineConfig({ storage, ...options }) },
    { valid: queue, make: (options: object) => void new Queue({ storage, ...options }) },
    { valid: tasks, make: (options: object) => void createTasks({ storage, ...options }) },
  ]
  return {
    input: (random) => {
      const kind = random.below(kinds.length)
      return { kind, text: mutated(random, kinds[kind]!.valid) }
    },
    run(input) {
      const { kind, text } = input as { kind: number; text: string }
      let options: unknown
      try {
        options = JSON.parse(text)
      } catch {
        return
      }
      kinds[kind]!.make(options as object)
    },
  }
}
