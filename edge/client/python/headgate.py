"""Ask a headgate daemon whether a request may pass: over datagrams, within milliseconds.

    from headgate import Headgate, wsgi
    app.wsgi_app = wsgi(app.wsgi_app, Headgate(), trusted=["10.0.0.0/8"])

A question never raises because of the daemon: where no answer comes in time, ``error`` says why and
``fail`` decides. Python 3.9 and newer, the standard library alone.
"""

import asyncio
import http.client
import ipaddress
import itertools
import json
import math
import os
import socket
import time

__all__ = ["Answer", "AsyncHeadgate", "Headgate", "asgi", "wsgi"]

_MOST_LINE = 8192 - 64  # bytes of a datagram, without room for an id
_MOST_VALUE = 4096  # bytes of a path or of a header's value
HEADERS = ("x-api-key", "authorization", "user-agent", "cookie", "origin", "referer", "content-type")


def _escape(value):
    """The bytes of a value, with blanks, control characters and % as %XX."""
    raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return b"".join(b"%%%02X" % b if b <= 0x20 or b in (0x25, 0x7F) else bytes((b,)) for b in raw)


class _Line:
    """A question, one line. What has no room is named, since a part would be another value."""

    def __init__(self, *words):
        self.words, self.size, self.cut = list(words), sum(len(w) + 1 for w in words), []

    def add(self, name, value, most=_MOST_VALUE):
        raw = _escape(value)
        word = name.encode() + b"=" + raw
        if len(raw) > 3 * most or self.size + len(word) + 1 > _MOST_LINE - 1024:
            self.cut.append(b"cut=" + name.encode())
            return
        self.words.append(word)
        self.size += len(word) + 1

    def bytes(self):
        return b" ".join(self.words + self.cut[:16])


class Answer:
    """What the daemon says of a question; delay is in seconds."""

    def __init__(self, fields, rule=""):
        verdict = fields.get("", "")
        self.error = fields.get("error", "")
        self.why = fields.get("why", "")
        self.verdict = "none" if self.error or self.why == "none" else verdict
        if self.verdict == "ok":
            self.verdict = "allow"
        self.allowed = fields.get("allowed", verdict != "deny")
        self.rule = fields.get("rule", rule)
        self.remaining = _number(fields.get("remaining"))
        self.reset = _number(fields.get("reset"))
        self.retry = _number(fields.get("retry"))
        self.status = 200 if self.allowed else _number(fields.get("status")) or (503 if self.error else 429)
        self.ticket = fields.get("ticket", "")
        self.lease = fields.get("lease", "")
        self.delay = (_number(fields.get("delay")) or 0) / 1000
        self.view = fields.get("view", "")
        self.shadow = fields.get("shadow", "")

    def __repr__(self):
        return "Answer(%s)" % ", ".join("%s=%r" % item for item in vars(self).items())

    def headers(self):
        """The headers of a response: RateLimit, and Retry-After with a denial."""
        out = {}
        if self.rule and self.remaining is not None and self.reset is not None:
            out["RateLimit"] = '"%s";r=%d;t=%d' % (self.rule, self.remaining, self.reset)
        if not self.allowed and self.retry:
            out["Retry-After"] = str(math.ceil(self.retry))
        return out

    def body(self):
        """The body of a denial, as application/problem+json (RFC 9457)."""
        return json.dumps({"type": "about:blank", "title": self.reason(), "status": self.status}).encode()

    def reason(self):
        """The words beside the status of a denial."""
        return http.client.responses.get(self.status, "Denied")


def _number(text):
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def _parse(line):
    """The fields of a reply; the first word is named ""."""
    words = line.decode("ascii", "replace").split()
    fields = dict(w.split("=", 1) for w in words if "=" in w)
    plain = [w for w in words if w and "=" not in w]
    fields[""] = plain[0] if plain else ""
    if fields[""] == "error":
        fields["error"] = plain[1] if len(plain) > 1 else "error"
    return fields


def _headers(headers):
    if headers is None:
        return []
    return headers.items() if hasattr(headers, "items") else headers


class _Questions:
    """The lines of questions, and what becomes of failures: the same for both clients."""

    def __init__(self, address=None, timeout=0.05, fail="allow", on_error=None):
        if fail not in ("allow", "deny"):
            raise ValueError("fail is allow or deny, not %r" % (fail,))
        address = address or os.environ.get("HEADGATE_ADDR") or "127.0.0.1:4290"
        if address.startswith("unix:"):
            self._family, self._to, self._far = socket.AF_UNIX, address[5:], False
        else:
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit():
                raise ValueError("address is host:port or unix:/path, not %r" % (address,))
            found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
            self._family, self._to = found[0][0], found[0][4]
            self._far = not ipaddress.ip_address(self._to[0].partition("%")[0]).is_loopback
        self.timeout, self.fail, self.on_error = timeout, fail, on_error
        self._ids = itertools.count(int.from_bytes(os.urandom(4), "big"))

    def _socket(self):
        sock = socket.socket(self._family, socket.SOCK_DGRAM)
        if self._family == socket.AF_UNIX:
            sock.bind("")  # a name of the kernel's choice, for replies
        sock.connect(self._to)
        return sock

    def _sent(self, line, ident):
        sent = line.bytes() + b" id=" + ident
        if self._far and line.words[0] != b"ask" and len(sent) < 160:
            sent += b" x=" + b"." * (157 - len(sent))  # off loopback no reply is longer than its question
        return sent

    def _failed(self, why, rule=""):
        if self.on_error:
            self.on_error(why)
        return Answer({"error": why, "allowed": self.fail == "allow"}, rule)

    def _answer(self, reply, rule):
        fields = _parse(reply)
        if fields.get("error") or fields[""] not in ("allow", "deny", "ok"):
            return self._failed(fields.get("error") or "unreadable", rule)
        return Answer(fields, rule)

    # Each method of a question returns its line and the rule; the clients send it.

    def check(self, rule, key, cost=1, tier=None):
        line = self._rule("check", rule, key, cost)
        if tier:
            line.add("tier", tier)
        return self._ask(line, rule)

    def peek(self, rule, key, cost=1):
        return self._ask(self._rule("peek", rule, key, cost), rule)

    def count(self, rule, key, cost=1):
        return self._ask(self._rule("count", rule, key, cost), rule)

    def acquire(self, rule, key, cost=1, lease=None):
        line = self._rule("acquire", rule, key, cost)
        if lease is not None:
            line.add("lease", lease)
        return self._ask(line, rule)

    def release(self, rule, key, lease=None):
        line = self._rule("release", rule, key)
        if lease:
            line.add("lease", lease)
        return self._ask(line, rule)

    def settle(self, rule, key, delta):
        line = self._rule("settle", rule, key)
        line.add("delta", "%+g" % delta if isinstance(delta, float) else "%+d" % delta)
        return self._ask(line, rule)

    def _rule(self, op, rule, key, cost=1):
        line = _Line(op.encode(), _escape(rule), _escape(key))
        if cost != 1:
            line.add("cost", cost)
        return line

    def ask(self, path, method="GET", host="", client=None, headers=None, **fields):
        line = _Line(b"ask")
        for name, value in (("method", method), ("host", host), ("client", client), *fields.items()):
            if value:
                line.add(name, value, 256)
        whole = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
        line.add("path", whole[:_MOST_VALUE])
        if len(whole) > _MOST_VALUE:
            line.cut.append(b"cut=path")
        for name, value in _headers(headers):
            line.add("header." + name.lower(), value)
        return self._ask(line, "")

    def _report(self, ticket, status, headers, cost):
        ticket = getattr(ticket, "ticket", ticket)
        line = _Line(b"report", b"ticket=" + _escape(ticket), b"status=%d" % status)
        if cost is not None:
            line.add("cost", cost)
        for name, value in _headers(headers):
            line.add("response.header." + name.lower(), value)
        return line.bytes() if ticket else None


class Headgate(_Questions):
    """A client for threads. As many sockets are open as questions were under way at once."""

    def __init__(self, address=None, timeout=0.05, fail="allow", on_error=None):
        super().__init__(address, timeout, fail, on_error)
        self._pid, self._free = os.getpid(), []

    def _with_socket(self, use, rule=""):
        if self._pid != os.getpid():  # a fork has sockets of its own, for its own answers
            self.close()  # the copies of this process
            self._pid = os.getpid()
        sock = None
        try:
            try:
                sock = self._free.pop()
            except IndexError:
                sock = self._socket()
            answer = use(sock)
        except OSError:
            if sock is not None:
                sock.close()
            return self._failed("unreachable", rule)
        self._free.append(sock)
        return answer

    def _ask(self, line, rule):
        ident = b"%x" % (next(self._ids) & 0xFFFFFFFFFFFF)
        until = time.monotonic() + self.timeout

        def use(sock):
            sock.send(self._sent(line, ident))
            while True:
                left = until - time.monotonic()
                try:
                    sock.settimeout(max(left, 1e-6))
                    first, _, rest = sock.recv(16384).partition(b" ")
                except socket.timeout:
                    return self._failed("timeout", rule)
                if first == b"id=" + ident:  # else the late answer of an earlier question
                    return self._answer(rest, rule)

        return self._with_socket(use, rule)

    def report(self, answer_or_ticket, status, headers=None, cost=None):
        """Say how a request with a ticket ended. No answer is waited for."""
        line = self._report(answer_or_ticket, status, headers, cost)
        if line:
            self._with_socket(lambda sock: sock.send(line))

    def close(self):
        while self._free:
            self._free.pop().close()


class AsyncHeadgate(_Questions, asyncio.DatagramProtocol):
    """A client for asyncio: every question is awaited."""

    def __init__(self, address=None, timeout=0.05, fail="allow", on_error=None):
        super().__init__(address, timeout, fail, on_error)
        self._transport, self._loop, self._waiting = None, None, {}

    async def _open(self):
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._transport, self._opening = loop, None, asyncio.Lock()
        async with self._opening:
            if self._transport is None or self._transport.is_closing():
                self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=self._socket())
        return loop

    def datagram_received(self, data, addr):
        first, _, rest = data.partition(b" ")
        waits = self._waiting.pop(first[3:], None)
        if waits and not waits.done():
            waits.set_result(rest)

    def error_received(self, exc):  # of any question: the daemon is not there
        for waits in self._waiting.values():
            if not waits.done():
                waits.set_exception(exc)

    async def _ask(self, line, rule):
        ident = b"%x" % (next(self._ids) & 0xFFFFFFFFFFFF)
        try:
            loop = await self._open()
            waits = self._waiting[ident] = loop.create_future()
            self._transport.sendto(self._sent(line, ident))
            return self._answer(await asyncio.wait_for(waits, self.timeout), rule)
        except asyncio.TimeoutError:
            return self._failed("timeout", rule)
        except OSError:
            return self._failed("unreachable", rule)
        finally:
            self._waiting.pop(ident, None)

    async def report(self, answer_or_ticket, status, headers=None, cost=None):
        """Say how a request with a ticket ended. No answer is waited for."""
        line = self._report(answer_or_ticket, status, headers, cost)
        try:
            if line:
                await self._open()
                self._transport.sendto(line)
        except OSError:
            self._failed("unreachable")

    async def close(self):
        if self._transport is not None:
            self._transport.close()
            self._transport = None


def _client_of(peer, forwarded, networks):
    """The client: of X-Forwarded-For the rightmost address that is not trusted, behind a trusted peer."""

    def trusted(text):
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in networks)

    client = peer
    for text in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        if not trusted(client):
            break
        try:
            client = str(ipaddress.ip_address(text))
        except ValueError:
            break
    return client


def _networks(trusted):
    return [ipaddress.ip_network(text, strict=False) for text in trusted]


def wsgi(app, headgate, trusted=(), rule=None, key=None, headers=HEADERS, report_headers=()):
    """A WSGI application in front of app: a request asks the policies, or rule by key(environ)."""
    networks = _networks(trusted)

    def front(environ, start_response):
        client = _client_of(environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", ""), networks)
        if rule:
            answer = headgate.check(rule, key(environ) if key else client)
        else:
            path = environ.get("RAW_URI") or environ.get("REQUEST_URI") or _wsgi_path(environ)
            sent = [(n, environ[_wsgi_name(n)]) for n in headers if environ.get(_wsgi_name(n))]
            answer = headgate.ask(path, method=environ.get("REQUEST_METHOD", "GET"),
                                  host=environ.get("HTTP_HOST", ""), client=client, headers=sent, delay="ok")
        extra = list(answer.headers().items())
        if not answer.allowed:
            body = answer.body()
            start_response("%d %s" % (answer.status, answer.reason()), extra + [
                ("Content-Type", "application/problem+json"), ("Content-Length", str(len(body)))])
            return [body]
        if answer.delay:
            time.sleep(min(answer.delay, 60))
        said = {}

        def start(status, response_headers, *exc_info):
            said["status"] = int(status[:3])
            said["headers"] = response_headers
            return start_response(status, list(response_headers) + extra, *exc_info)

        if not answer.ticket:
            return app(environ, start)
        return _Reported(app, environ, start, lambda: headgate.report(
            answer, said.get("status", 500), _picked(said.get("headers", ()), report_headers)))

    return front


def _wsgi_name(name):
    name = name.upper().replace("-", "_")
    return name if name == "CONTENT_TYPE" else "HTTP_" + name


def _wsgi_path(environ):
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    query = environ.get("QUERY_STRING", "")
    path = path.encode("latin-1", "replace") or b"/"
    # a server decoded it: what stands for something else in a target is encoded again
    path = b"".join(b"%%%02X" % b if b in b"%?#" else bytes((b,)) for b in path)
    return path + (b"?" + query.encode("latin-1", "replace") if query else b"")


def _picked(headers, names):
    wanted = {name.lower() for name in names}
    return [(n, v) for n, v in headers if n.lower() in wanted]


class _Reported:
    """The response of an application; its end is reported, once."""

    def __init__(self, app, environ, start, report):
        self._report = report
        try:
            self._parts = app(environ, start)
        except BaseException:
            self._end()
            raise

    def __iter__(self):
        try:
            yield from self._parts
        finally:
            self._end()

    def close(self):
        try:
            if hasattr(self._parts, "close"):
                self._parts.close()
        finally:
            self._end()

    def _end(self):
        report, self._report = self._report, None
        if report:
            report()


def asgi(app, headgate, trusted=(), rule=None, key=None, headers=HEADERS, report_headers=()):
    """An ASGI application in front of app, with an AsyncHeadgate; rule by key(scope)."""
    networks = _networks(trusted)
    names = {name.lower().encode() for name in headers}

    async def front(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        given = [(n.lower(), v) for n, v in scope.get("headers", ())]
        forwarded = b",".join(v for n, v in given if n == b"x-forwarded-for").decode("latin-1")
        client = _client_of((scope.get("client") or ("",))[0], forwarded, networks)
        if rule:
            answer = await headgate.check(rule, key(scope) if key else client)
        else:
            target = scope.get("raw_path") or scope["path"].encode()
            if scope.get("query_string"):
                target += b"?" + scope["query_string"]
            host = next((v for n, v in given if n == b"host"), b"").decode("latin-1")
            sent = [(n.decode("latin-1"), v) for n, v in given if n in names]
            answer = await headgate.ask(target, method=scope["method"], host=host, client=client,
                                        headers=sent, delay="ok")
        extra = [(n.lower().encode(), v.encode()) for n, v in answer.headers().items()]
        if not answer.allowed:
            body = answer.body()
            await send({"type": "http.response.start", "status": answer.status, "headers": extra + [
                (b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]})
            return await send({"type": "http.response.body", "body": body})
        if answer.delay:
            await asyncio.sleep(min(answer.delay, 60))
        said = {"status": 500, "headers": ()}

        async def sending(message):
            if message["type"] == "http.response.start":
                said.update(status=message["status"], headers=message.get("headers", ()))
                message = dict(message, headers=list(message.get("headers", ())) + extra)
            await send(message)

        try:
            return await app(scope, receive, sending)
        finally:
            if answer.ticket:
                plain = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in said["headers"]]
                await headgate.report(answer, said["status"], _picked(plain, report_headers))

    return front
