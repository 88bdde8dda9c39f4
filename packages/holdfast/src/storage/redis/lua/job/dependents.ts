// Dependents of a chain: unfinished jobs that name it as a blocker. The chain's record has their number.

export const dependents = `
local function dependents_of(chain)
  local list = {}
  if chain.deps == 0 then return list end
  for _, ref in ipairs(call('ZRANGE', chain.t.p .. 'deps:' .. chain.id, 0, -1)) do
    local j = stored_ref(cmsgpack.unpack(ref))
    if j then list[#list + 1] = j end
  end
  return list
end
local function add_dependent(chain, j)
  chain.deps = chain.deps + call('ZADD', chain.t.p .. 'deps:' .. chain.id, j.accepted, pack(ref_of(j)))
  touch(chain)
end
-- A job has ended: the chains it waited for are no longer kept for it.
local function release_blockers(j)
  for _, blocker in ipairs(j.blockers or {}) do
    local chain = stored_ref(blocker)
    if chain and call('ZREM', chain.t.p .. 'deps:' .. chain.id, pack(ref_of(j))) == 1 then
      chain.deps = chain.deps - 1
      touch(chain)
    end
  end
end
`
