-- Reads the prepared requests once in each thread, and sends them in turn. Replaces the placeholder of an idempotency
-- key by a new key. Prints the results in whole microseconds at the end, because wrk rounds its own output.
local threads = 0
function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

local requests, at = {}, 0
local run, sent = 0, 0
function init(args)
   local file = assert(io.open(args[1], "rb"))
   while true do
      local length = file:read("*n")
      if not length then break end
      file:read(1)
      local text = file:read(length)
      local before, after = text:match("^(.-)@@@@@@@@@@@@@@@@(.*)$")
      requests[#requests + 1] = before and { before, after } or text
   end
   file:close()
   run = os.time() % 100000
   at = (tonumber(args[2]) + number * math.floor(#requests / 3)) % #requests
end

function request()
   at = at % #requests + 1
   local text = requests[at]
   if type(text) == "string" then return text end
   sent = sent + 1
   return text[1] .. string.format("%05d-%02d-%07d", run, number, sent) .. text[2]
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format("petstore-bench %.0f %.0f %.0f %.0f %.0f %.0f\n",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      e.status, e.connect + e.read + e.write + e.timeout))
end
