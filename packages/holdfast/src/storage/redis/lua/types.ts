// What list reads of types before it looks at their jobs: their names and priorities.

/** Answers with the names of all types that have, or had, a job. */
export const typeNames = `
return pack({ now, call('SMEMBERS', base .. ':types') })
`

/** ARGV: types. Answers with each type and its priorities. Nothing else of a type is read: a list may ask for thousands. */
export const types = `
local answers = {}
for index, name in ipairs(cmsgpack.unpack(ARGV[1])) do
  local prios = call('HGET', base .. encode_type(name) .. ':type', 'prios')
  answers[index] = { name, priorities({ prios = decode(prios) or {} }) }
end
return pack({ now, answers })
`
