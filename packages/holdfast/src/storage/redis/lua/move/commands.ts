// Values as the server takes them: packed fields, instants, and argument lists of any length.

export const commands = `
local function decode(bytes) return bytes and cmsgpack.unpack(bytes) end

-- An instant as Redis takes it. Nil if nothing should expire then: never, or too late for the server's numbers.
local function time_text(at)
  if not expires or not at or at > 8e15 then return nil end
  return format('%.0f', math.ceil(at))
end

-- Lua passes no more than some thousand arguments at once.
local function call_many(first, key, list)
  for from = 1, #list, 4000 do
    if key then call(first, key, unpack(list, from, math.min(from + 3999, #list)))
    else call(first, unpack(list, from, math.min(from + 3999, #list))) end
  end
end

-- Appends one or two items to the list of a key.
local function put(lists, key, first, second)
  local items = lists[key]
  if not items then
    items = {}
    lists[key] = items
  end
  items[#items + 1] = first
  if second then items[#items + 1] = second end
end
`
