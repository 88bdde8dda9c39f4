// The index of search fields. Each field of a type has a sorted set per kind of value; an entry names its value, when its job
// was created, and the job:
//
//   find:n:<field>, find:b:<field>   numbers and booleans: by score; createdAt (6 bytes), id
//   find:t:<field>                   texts: score 0, sorted by member; the text, 0 0, createdAt (6), id. A byte 0 of the text is
//                                    followed by 255, so that 0 0 ends it and texts are sorted as their bytes
//
// Redis expires records by itself, and their fields with them. So the set `searched` lists all entries of a job, by the expiry
// of its record, for the sweep: createdAt (6), length of the fields (4), the fields as the record has them, id. The instant of
// creation keeps the entries of one life of an id apart from those of the next.

export const search = `
-- Calls each(set, score, member) for the entries of a job. fields: as packed by the client.
local function each_entry(t, id, created_at, fields, each)
  local list, job = cmsgpack.unpack(fields), bytes_of('>I6', created_at) .. id
  for at = 1, #list, 2 do
    local name, value = list[at], list[at + 1]
    if type(value) == 'string' then
      each(t.p .. 'find:t:' .. name, 0, string.gsub(value, '%z', '\\0\\255') .. '\\0\\0' .. job)
    elseif type(value) == 'boolean' then
      each(t.p .. 'find:b:' .. name, value and 1 or 0, job)
    else
      each(t.p .. 'find:n:' .. name, format('%.17g', value), job)
    end
  end
end

local function list_search(j, is_over, adds, rems)
  local member = bytes_of('>I6I4', j.created_at, #j.search) .. j.search .. j.id
  if is_over then
    put(rems, j.t.p .. 'searched', member)
    each_entry(j.t, j.id, j.created_at, j.search, function(set, _, entry) put(rems, set, entry) end)
    return
  end
  put(adds, j.t.p .. 'searched', chain_of(j) and (record_expiry(j) or '+inf') or now, member)
  if j.fresh then each_entry(j.t, j.id, j.created_at, j.search, function(set, score, entry) put(adds, set, score, entry) end) end
end
`
