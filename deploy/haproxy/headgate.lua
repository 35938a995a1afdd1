-- headgate for HAProxy, file 1 of 3: the question, an action for http-request. Loaded by headgate.cfg.
-- It counts by txn.headgate_key and leaves behind txn.headgate_verdict (allow, deny, or gone: no answer), and from the
-- answer txn.headgate_retry, txn.headgate_ratelimit and txn.headgate_policy.

-- A key of any bytes and any length, as a value in a query string. Those who bring none share one.
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

-- The status and the headers of an answer to a question. A socket, and not core.httpclient, for that writes every question
-- into the log, tries four times where one does not succeed, and waits in between.
local function ask(path)
    local socket = core.tcp()
    socket:settimeout(0.04)        -- seconds; "listen headgate" gives up before
    if not socket:connect("abns@headgate") then
        return
    end
    local headers = {}
    local line = socket:send("HEAD " .. path .. " HTTP/1.1\r\nHost: headgate\r\nConnection: close\r\n\r\n") and socket:receive("*l")
    local status = line and line:match("^HTTP/1%.1 (%d+)")
    while line and line ~= "" and line ~= "\r" do
        line = socket:receive("*l")
        local name, found = (line or ""):match("^([%w-]+): *(.-)\r?$")
        if name then
            headers[name:lower()] = found
        end
    end
    socket:close()
    return status, headers
end

local verdicts = { ["200"] = "allow", ["429"] = "deny" }

core.register_action("headgate", { "http-req" }, function(txn, rule)
    txn:set_var("txn.headgate_verdict", "gone")
    local key = value(txn, txn:get_var("txn.headgate_key"))
    local status, headers = ask("/v1/check?rule=" .. rule .. "&key=" .. key)
    local verdict = verdicts[status or ""]
    if not verdict then
        return
    end
    for name, header in pairs({ retry = "retry-after", ratelimit = "ratelimit", policy = "ratelimit-policy" }) do
        if headers[header] then
            txn:set_var("txn.headgate_" .. name, headers[header])
        end
    end
    txn:set_var("txn.headgate_verdict", verdict)
end, 1)
