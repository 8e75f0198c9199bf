-- Reads the prepared requests once for each thread, and sends them in turn. At the end it prints whole
-- microseconds: what wrk prints itself is rounded for people.
local threads = 0
function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

local requests, at = {}, 0
function init(args)
   local file = assert(io.open(args[1], "rb"))
   while true do
      local length = file:read("*n")
      if not length then break end
      file:read(1)
      requests[#requests + 1] = file:read(length)
   end
   file:close()
   at = (tonumber(args[2]) + number * math.floor(#requests / 3)) % #requests
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format("petstore-bench %.0f %.0f %.0f %.0f %.0f %.0f\n",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      e.status, e.connect + e.read + e.write + e.timeout))
end
