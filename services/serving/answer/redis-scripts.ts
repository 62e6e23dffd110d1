/** Scripts that Redis runs as a whole. KEYS[1] is the place of one answer, which has a claim or a value. */

/** Claims a place without content, for ARGV[2] ms. Returns what is there if it is not this claim. */
export const claimScript = `
local there = redis.call('GET', KEYS[1])
if there == ARGV[1] then return false end
if there then return there end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`;

export const renewScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;

export const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Replaces a claim by a value. The bytes of each owner are in the hash \`bytes\`; \`of:OWNER\` lists its answers by time, as
 * \`BYTES:PLACE\`. An owner beyond its limit loses its oldest answers; beyond the limit of all, the owner with the most.
 */
export const keepScript = `
local there = redis.call('GET', KEYS[1])
if there and there ~= ARGV[1] then return end
local value, prefix, name, owner = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local ttl, mostOfOwner, most = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if #value > mostOfOwner or #value > most then
  redis.call('DEL', KEYS[1])
  return
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local totals = prefix .. 'bytes'
local function listOf(of) return prefix .. 'of:' .. of end
local function forget(of, entry)
  local bytes, place = string.match(entry, '^(%d+):(.+)$')
  redis.call('ZREM', listOf(of), entry)
  redis.call('HINCRBY', totals, of, -tonumber(bytes))
  return place
end
local function expire(of)
  local old = redis.call('ZRANGEBYSCORE', listOf(of), '-inf', now - ttl)
  for _, entry in ipairs(old) do forget(of, entry) end
  if redis.call('EXISTS', listOf(of)) == 0 then redis.call('HDEL', totals, of) end
end
local function evict(of)
  local oldest = redis.call('ZRANGE', listOf(of), 0, 0)[1]
  if oldest then redis.call('DEL', prefix .. forget(of, oldest)) end
  if redis.call('EXISTS', listOf(of)) == 0 then redis.call('HDEL', totals, of) end
end
local function usage()
  local all, largest, bytes = 0, nil, -1
  local flat = redis.call('HGETALL', totals)
  for at = 1, #flat, 2 do
    local of = tonumber(flat[at + 1])
    all = all + of
    if of > bytes then largest, bytes = flat[at], of end
  end
  return all, largest, flat
end
expire(owner)
redis.call('SET', KEYS[1], value, 'PX', ttl)
redis.call('ZADD', listOf(owner), now, #value .. ':' .. name)
redis.call('HINCRBY', totals, owner, #value)
redis.call('PEXPIRE', listOf(owner), ttl)
redis.call('PEXPIRE', totals, ttl)
while tonumber(redis.call('HGET', totals, owner) or '0') > mostOfOwner do evict(owner) end
local all, largest, flat = usage()
if all > most then
  for at = 1, #flat, 2 do expire(flat[at]) end
  all, largest = usage()
  while all > most do
    evict(largest)
    all, largest = usage()
  end
end`;
