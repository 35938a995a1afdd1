--- lua-resty-headgate: asks a headgate daemon about each request by a datagram, and reports the response.
--
-- For OpenResty, and nginx with the modules ngx_devel_kit and lua-nginx-module from 0.10.14 on. It needs nothing else.
--
--     lua_package_path "<<.Dir>>/?.lua;;";                               # in http {}
--     access_by_lua_block { require("headgate").access({address = {<<.Address>>}}) }
--     log_by_lua_block    { require("headgate").log({address = {<<.Address>>}}) }
--
-- The server needs `set $headgate_verdict $headgate_verdict; set $headgate_ticket $headgate_ticket;`: variables outlive
-- the internal redirects of index, try_files and error_page, by which a request would be asked about again.
--
-- Options, a table:
--
-- * `address`: of the daemon's datagrams: `{host, port}`, the host an IP address, or `{"unix:/path"}`
-- * `timeout`: for how long a request waits for the answer, in milliseconds; default 20
-- * `open`: whether requests pass while the daemon gives no verdict; false: 503; default true
-- * `headers`: a list of the headers that policies look at; default `HEADERS`
-- * `response_headers`: a list of the headers of responses that policies look at; default none
-- * `fields`: further fields of the request, such as `{country = "DE", tier = "gold"}`; default none
-- * `wait`: whether requests that a `delay` allows for later wait here; default true
-- * `deceive`: the response to requests that a policy denies with `on_deny: {deceive: true}`, a table of `status`, by default 200,
--   `body` and `type`, by default text/plain; the site does not see them. Default: they are denied
--
-- @module headgate

local M = {_VERSION = "1.0"}

--- The headers that are sent by default.
M.HEADERS = {"X-Api-Key", "Authorization", "User-Agent", "Cookie", "Origin", "Referer", "Content-Type"}

local ngx = ngx
local TIMEOUT = 20 -- milliseconds
local LINE = 8000 -- bytes of a line; the daemon takes 8,192
local VALUE = 4096 -- bytes of a path or a header; a longer one is cut
local LIST, TEXT = 1024, 256 -- bytes of a list of addresses and of other fields, as they are sent
local QUEUE = 1000 -- reports of a worker that wait to be sent
local PACKET = 40 -- reports in a datagram

local function encoded(text)
    return (text:gsub("[%c %%]", function(c) return ("%%%02X"):format(c:byte()) end))
end

-- Returns " name=value", the value cut to most bytes as it is sent.
local function field(name, value, most)
    local text = encoded(tostring(value):sub(1, most))
    if #text > most then
        text = text:sub(1, most):gsub("%%%x?$", "")
    end
    return " " .. name .. "=" .. text
end

-- Returns the addresses that the request came by, the last one this server's peer, without those on the left that are too many.
local function forwarded()
    local list = encoded((ngx.var.http_x_forwarded_for or "") .. "," .. (ngx.var.remote_addr or ""))
    if #list > LIST then
        list = list:sub(-LIST):gsub("^[^,]*,", "")
    end
    return (list:gsub("^,", ""))
end

-- Returns the line that asks about the current request, without its path and its headers.
local function known(options)
    local line = "ask" .. field("method", ngx.req.get_method(), TEXT) .. field("scheme", ngx.var.scheme, TEXT)
    local host = (ngx.var.host or ""):match("[^@]*$") -- as the daemon reads it, for that may be long
    if host ~= "" and #host < TEXT then
        line = line .. field("host", host, 3 * TEXT)
    end
    line = line .. " header.x-forwarded-for=" .. forwarded()
    local tls = ngx.var.ssl_protocol
    if tls and tls ~= "" then
        line = line .. field("tls", tls, TEXT)
    end
    for name, value in pairs(options.fields or {}) do
        line = line .. field(name, value, TEXT)
    end
    return line .. (options.wait ~= false and " delay=ok" or "") .. (options.deceive and " deceive=ok" or "")
end

--- Returns the line that asks about the current request. What does not fit is left out, and named in cut=: the daemon denies the
-- request if a policy looks at that.
function M.line(options)
    local names, line = options.headers or M.HEADERS, known(options)
    local room = LINE - #" cut=path cut=header." - #table.concat(names, " cut=header.")
    local function add(name, value)
        local text = " " .. name .. "=" .. encoded(value)
        local fits = #value <= VALUE and #line + #text <= room
        if fits then
            line = line .. text
        end
        return fits
    end
    local target, cut = ngx.var.request_uri or "/", ""
    if not add("path", target) then
        line, cut = line .. field("path", target, VALUE), " cut=path"
    end
    local sent = ngx.req.get_headers(0)
    for _, name in ipairs(names) do
        name = "header." .. name:lower()
        local values, whole = sent[name:sub(#"header." + 1)], true
        for _, value in ipairs(type(values) == "table" and values or {values}) do
            while name == "header.cookie" and #value > VALUE do -- in pieces, between two cookies
                local piece, rest = value:sub(1, VALUE + 1):match("^(.*);()")
                if not piece then
                    break
                end
                whole, value = add(name, piece) and whole, value:sub(rest)
            end
            whole = add(name, value) and whole
        end
        if not whole then
            cut = cut .. " cut=" .. encoded(name)
        end
    end
    return line .. cut
end

-- Returns a connected socket.
local function connect(options)
    local socket = ngx.socket.udp()
    socket:settimeout(options.timeout or TIMEOUT)
    local done, fault = socket:setpeername(unpack(options.address))
    if not done then
        return nil, fault
    end
    return socket
end

--- Sends a line and returns the reply, or nil and the fault.
function M.exchange(options, line)
    local socket, fault = connect(options)
    if not socket then
        return nil, fault
    end
    local reply, done
    done, fault = socket:send(line)
    if done then
        reply, fault = socket:receive(1024)
    end
    socket:close()
    return reply, fault
end

--- Reads a reply to an ask: a table with verdict ("allow", "deny"), and status, retry, ticket, rule, why, remaining, reset, delay
-- and deceive where the reply has them; nil if it holds no verdict.
function M.parse(reply)
    local answer = {verdict = reply:match("^%l+")}
    if answer.verdict ~= "allow" and answer.verdict ~= "deny" then
        return nil
    end
    for name, value in reply:gmatch(" (%l+)=(%S+)") do
        answer[name] = value
    end
    return answer
end

local function deny(status, retry, title)
    ngx.status = status
    ngx.header["Retry-After"] = retry
    ngx.header["Cache-Control"] = "no-store"
    ngx.header["Content-Type"] = "application/problem+json"
    ngx.print('{"type":"about:blank","title":"', title, '","status":', status, "}\n")
    return ngx.exit(ngx.HTTP_OK)
end

-- Answers as if all were well.
local function pretend(response)
    ngx.status = response.status or 200
    ngx.header["Content-Type"] = response.type or "text/plain"
    if response.body then
        ngx.print(response.body)
    end
    return ngx.exit(ngx.HTTP_OK)
end

--- Asks about the request, in the access phase, and denies it if so answered.
function M.access(options)
    if (ngx.var.headgate_verdict or "") ~= "" then
        return -- already asked: it counts once
    end
    local reply, fault = M.exchange(options, M.line(options))
    local answer = reply and M.parse(reply)
    if not answer then
        ngx.var.headgate_verdict = "gone"
        ngx.log(ngx.WARN, "headgate: ", reply or fault)
        if options.open == false then
            return deny(503, 1, "The rate limiter does not answer")
        end
        return
    end
    ngx.var.headgate_verdict = answer.verdict
    ngx.var.headgate_ticket = answer.ticket
    local wait = answer.verdict == "deny" and answer.retry or answer.reset
    if answer.rule and wait then
        ngx.header["RateLimit"] = ('"%s";r=%s;t=%s'):format(answer.rule, answer.remaining or 0, wait)
    end
    if answer.verdict == "deny" then
        return deny(tonumber(answer.status) or 429, answer.retry, "Too many requests")
    end
    if answer.deceive and options.deceive then
        return pretend(options.deceive)
    end
    if answer.delay then
        ngx.sleep(tonumber(answer.delay) / 1000)
    end
end

-- Reports that wait, by address: lines, how many were dropped, and whether a timer sends them.
local queues = {}

local function queueOf(options)
    local key = table.concat(options.address, " ")
    queues[key] = queues[key] or {dropped = 0}
    return queues[key]
end

-- Sends what waits, in as few datagrams as it fits. A log phase has no sockets, a timer has.
local function send(_, queue, options)
    local socket, fault = connect(options)
    while socket and #queue > 0 do
        local lines, size = {}, 0
        while queue[1] and #lines < PACKET and size + #queue[1] < LINE do
            size = size + #queue[1] + 1
            lines[#lines + 1] = table.remove(queue, 1)
        end
        local done
        done, fault = socket:send(table.concat(lines, "\n"))
        if not done then
            break
        end
    end
    if socket then
        socket:close()
    end
    if fault then
        ngx.log(ngx.WARN, "headgate: reports were not sent: ", fault)
        for i = #queue, 1, -1 do -- the next ones find the daemon, or not
            queue[i] = nil
        end
    end
    queue.timed = false
end

--- Reports the status of a response, its time and its size, in the log phase, where the answer had a ticket.
function M.log(options)
    local ticket = ngx.var.headgate_ticket
    if not ticket or ticket == "" then
        return
    end
    local line = ("report ticket=%s status=%s ms=%d"):format(ticket, ngx.var.status or "-", (tonumber(ngx.var.request_time) or 0) * 1000)
    line = line .. field("response.header.content-length", ngx.var.body_bytes_sent or 0, TEXT)
    for _, name in ipairs(options.response_headers or {}) do
        local value = ngx.var["sent_http_" .. name:lower():gsub("-", "_")]
        if value and #line + LIST + #name < LINE then
            line = line .. field("response.header." .. name:lower(), value, LIST)
        end
    end
    local queue = queueOf(options)
    if #queue >= QUEUE then
        queue.dropped = queue.dropped + 1
        if queue.dropped % QUEUE == 1 then
            ngx.log(ngx.WARN, "headgate: reports dropped so far: ", queue.dropped)
        end
        return
    end
    queue[#queue + 1] = line
    if not queue.timed then
        local fault
        queue.timed, fault = ngx.timer.at(0, send, queue, options)
        if not queue.timed then
            ngx.log(ngx.WARN, "headgate: no timer for reports: ", fault)
        end
    end
end

return M
