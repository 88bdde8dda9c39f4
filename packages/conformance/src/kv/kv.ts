// Guards the key-value contract: kv-verbs.ts the verbs and their values, kv-expiry.ts time, kv-keys.ts keys, kv-list.ts lists.

import type { Case } from '../case.ts'
import { kvExpiryCases } from './kv-expiry.ts'
import { kvKeyCases } from './kv-keys.ts'
import { kvListCases } from './kv-list.ts'
import { kvVerbCases } from './kv-verbs.ts'

export const kvCases: readonly Case[] = [...kvVerbCases, ...kvExpiryCases, ...kvKeyCases, ...kvListCases]
