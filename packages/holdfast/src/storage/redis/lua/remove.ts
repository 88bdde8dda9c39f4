// As rules/remove.ts: remove ended chains, now or later; or whole trees, all of them or none.

import { removeCodes } from '../codec/codes.ts'

/** ARGV: refs, trees, afterMs or false. */
export const remove = `
local refs, trees, after_ms = unpack(cmsgpack.unpack(ARGV[1]))

local function remove_ended(chain)
  if not chain then return { ${removeCodes.not_found} } end
  if chain.chain then return { ${removeCodes.not_root}, chain.chain } end
  if not is_terminal(tail_of(chain).state) then return { ${removeCodes.not_terminal} } end
  if after_ms then
    chain.expires_at = now + after_ms
    touch(chain)
    return { ${removeCodes.kept}, chain.expires_at }
  end
  if chain.deps > 0 then
    local by = {}
    for index, j in ipairs(dependents_of(chain)) do by[index] = ref_of(j) end
    return { ${removeCodes.referenced}, by }
  end
  forget(chain)
  return { ${removeCodes.removed} }
end

local function root_of(j) return j.root or j.chain or ref_of(j) end
local function is_under(j, root)
  local above = root_of(j)
  return above[1] == root.t.name and above[2] == root.id
end
local function is_root(j) return not j.chain and is_under(j, j) end

-- Adds a chain, and all chains that were started to block one of its jobs.
local function add_tree(root, chains)
  local open = { root }
  while #open > 0 do
    local chain = table.remove(open)
    if not chains[chain] then
      chains[chain] = true
      chains[#chains + 1] = chain
      for _, j in ipairs(jobs_of(chain)) do
        for _, blocker in ipairs(j.blockers or {}) do
          local found = find_ref(blocker)
          if found and not found.chain and is_under(found, root) then open[#open + 1] = found end
        end
      end
    end
  end
end

-- Unfinished jobs outside of the trees that depend on a chain of this root's tree.
local function outsiders(root, chains)
  local found, seen = {}, {}
  for _, chain in ipairs(chains) do
    if is_under(chain, root) then
      for _, j in ipairs(dependents_of(chain)) do
        if not chains[chain_of(j)] and not seen[j] then
          seen[j] = true
          found[#found + 1] = ref_of(j)
        end
      end
    end
  end
  return found
end

local answers = {}
if not trees then
  for index, ref in ipairs(refs) do answers[index] = remove_ended(find_ref(ref)) end
else
  local chains, fine = {}, true
  for _, ref in ipairs(refs) do
    local root = find_ref(ref)
    if root and is_root(root) then add_tree(root, chains) end
  end
  for index, ref in ipairs(refs) do
    local root = find_ref(ref)
    if not root then answers[index] = { ${removeCodes.not_found} }
    elseif not is_root(root) then answers[index] = { ${removeCodes.not_root}, root_of(root) }
    else
      local by = outsiders(root, chains)
      answers[index] = #by > 0 and { ${removeCodes.referenced}, by } or { ${removeCodes.removed} }
    end
    if answers[index][1] ~= ${removeCodes.removed} then fine = false end
  end
  for index, answer in ipairs(answers) do
    if not fine and answer[1] == ${removeCodes.removed} then answers[index] = { ${removeCodes.untouched} } end
  end
  if fine then for _, chain in ipairs(chains) do forget(chain) end end
end
flush()
send()
return pack({ now, answers })
`
