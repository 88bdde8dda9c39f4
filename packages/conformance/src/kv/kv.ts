// The cases of the key-value contract.

import type { Case } from '../case.ts'
import { kvExpiryCases } from './kv-expiry.ts'
import { kvKeyCases } from './kv-keys.ts'
import { kvListCases } from './kv-list.ts'
import { kvVerbCases } from './kv-verbs.ts'

export const kvCases: readonly Case[] = [...kvVerbCases, ...kvExpiryCases, ...kvKeyCases, ...kvListCases]
