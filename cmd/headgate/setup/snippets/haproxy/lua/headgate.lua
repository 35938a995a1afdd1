-- headgate for HAProxy, file 1 of 2: the question, an action for http-request. File 2, headgate.cfg, loads and calls it.
-- It leaves behind txn.headgate_verdict (allow, deny, or gone: no answer), and from the answer
-- txn.headgate_status, txn.headgate_ticket, txn.headgate_retry, txn.headgate_ratelimit and txn.headgate_policy.

local timeout = <<.Timeout>> / 1000    -- seconds that a request waits for an answer at most
local spare = 64                -- idle connections kept by each thread …
local fresh = 20                -- … for this many seconds: below the 30 after which headgate closes them

-- A key of any bytes and any length, as a value in a query string. Requests without one share one.
local function value(txn, key)
    if key == nil or key == "" then
        return "-"
    end
    key = tostring(key)
    if #key > 256 then
        key = "sha1:" .. txn.c:hex(txn.c:sha1(key))
    end
    return (key:gsub("[^%w.:_-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local idle = {}                 -- connections, the last used last

-- A connection to headgate, or nil. core.httpclient would keep some too, but logs each question, and tries four times where
-- one does not succeed.
local function connect()
    while #idle > 0 do
        local kept = table.remove(idle)
        if core.now().sec - kept.used < fresh then
            kept.socket:settimeout(timeout)
            return kept.socket
        end
        kept.socket:close()
    end
    local socket = core.tcp()
    socket:settimeout(timeout)
    if socket:connect(<<.Address>>) then
        return socket
    end
    socket:close()
end

local function keep(socket)
    if #idle >= spare then
        socket:close()
        return
    end
    socket:settimeout(2 * fresh)
    table.insert(idle, { socket = socket, used = core.now().sec })
end

-- The status and the headers of an answer, or nil. There is no retry, so that nothing counts twice. lines describe a request.
local function ask(path, lines)
    local socket = connect()
    if not socket then
        return
    end
    local headers = {}
    local line = socket:send("HEAD " .. path .. " HTTP/1.1\r\nHost: headgate\r\n" .. (lines or "") .. "\r\n") and socket:receive("*l")
    local status = line and line:match("^HTTP/1%.1 (%d+)")
    while line and line ~= "" and line ~= "\r" do
        line = socket:receive("*l")
        local name, found = (line or ""):match("^([%w-]+): *(.-)\r?$")
        if name then
            headers[name:lower()] = found
        end
    end
    if not line or headers.connection == "close" then
        socket:close()
    else
        keep(socket)
    end
    return line and status, headers
end

-- The variables that an answer sets, by header.
local answered = {
    ["retry-after"] = "retry", ["ratelimit"] = "ratelimit", ["ratelimit-policy"] = "policy", ["headgate-ticket"] = "ticket",
    ["x-ratelimit-limit"] = "x_limit", ["x-ratelimit-remaining"] = "x_remaining", ["x-ratelimit-reset"] = "x_reset",
}

local function leave(txn, verdict, headers)
    txn:set_var("txn.headgate_verdict", verdict)
    for header, name in pairs(answered) do
        if headers[header] then
            txn:set_var("txn.headgate_" .. name, headers[header])
        end
    end
end

-- Headers that are not shown to headgate, as they would be those of the question itself.
local hidden = { ["host"] = true, ["connection"] = true, ["transfer-encoding"] = true, ["content-length"] = true }

-- The request as lines of headers: the visitor's own, for policies that look at them, except those that only a proxy may set.
local function described(txn)
    local lines = {}
    for name, values in pairs(txn.http:req_get_headers()) do
        local own = not hidden[name] and not name:find("^headgate%-") and (name == "x-forwarded-for" or not name:find("^x%-forwarded%-"))
        for i = 0, own and #values or -1 do
            lines[#lines + 1] = name .. ": " .. values[i]
        end
    end
    local scheme = txn.f:ssl_fc() == 1 and "https" or "http"
    lines[#lines + 1] = "X-Forwarded-For: " .. (txn.f:src() or "")
    lines[#lines + 1] = "X-Forwarded-Method: " .. txn.f:method()
    lines[#lines + 1] = "X-Forwarded-Uri: " .. (txn.f:url() or "/")
    lines[#lines + 1] = "X-Forwarded-Host: " .. (txn.f:req_fhdr("host") or "")
    lines[#lines + 1] = "X-Forwarded-Proto: " .. scheme
    return table.concat(lines, "\r\n") .. "\r\n"
end

-- headgate_ask shows the request to headgate, and the policies decide.
core.register_action("headgate_ask", { "http-req" }, function(txn)
    txn:set_var("txn.headgate_verdict", "gone")
    local status, headers = ask("/v1/auth/forward", described(txn))
    local long = status == "414" or status == "431"     -- the path or the headers
    local verdict = status and headers["headgate-verdict"] or long and "deny"
    if verdict then
        leave(txn, verdict, headers)
        if verdict == "deny" then
            txn:set_var("txn.headgate_status", status)
        end
    end
end, 0)

local verdicts = { ["200"] = "allow", ["429"] = "deny" }

-- question returns an action that asks headgate by path, /v1/check or /v1/peek, whether this request may pass.
local function question(path)
    return function(txn, rule)
        txn:set_var("txn.headgate_verdict", "gone")
        local key = value(txn, txn:get_var("txn.headgate_key"))
        local status, headers = ask(path .. "?rule=" .. rule .. "&key=" .. key)
        local verdict = verdicts[status or ""]
        if not verdict then
            return
        end
        leave(txn, verdict, headers)
    end
end

-- The actions for one rule, by the key in txn.headgate_key. headgate counts and decides. headgate_peek decides and counts
-- nothing; headgate_count, for http-response, counts and decides nothing: together they count by the response.
core.register_action("headgate", { "http-req" }, question("/v1/check"), 1)
core.register_action("headgate_peek", { "http-req" }, question("/v1/peek"), 1)
core.register_action("headgate_count", { "http-res" }, function(txn, rule)
    ask("/v1/count?rule=" .. rule .. "&key=" .. value(txn, txn:get_var("txn.headgate_key")))
end, 1)
