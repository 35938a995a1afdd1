"""Against a daemon at HEADGATE_ADDR, with the rules and policies of the Go test that starts it."""

import asyncio
import os
import socket
import threading
import time
import unittest
import urllib.error
import urllib.request
import wsgiref.simple_server

from headgate import AsyncHeadgate, Headgate, _client_of, _networks, asgi, wsgi


def counted(hg, client, left, rule="login"):
    """Wait until so much is left for a client: reports are not answered."""
    until = time.monotonic() + 20
    while hg.peek(rule, client).remaining != left:
        if time.monotonic() > until:
            raise AssertionError("%r, not %r left" % (hg.peek(rule, client), left))
        time.sleep(0.01)


class Questions(unittest.TestCase):
    def setUp(self):
        self.hg = Headgate(timeout=5)

    def tearDown(self):
        self.hg.close()

    def test_rule(self):
        first = self.hg.check("two", "a key %\n\xe9")
        self.assertEqual((first.allowed, first.verdict, first.remaining, first.view), (True, "allow", 1, "node"))
        self.assertEqual(first.headers(), {"RateLimit": '"two";r=1;t=60'})
        self.assertEqual(self.hg.peek("two", "a key %\n\xe9").remaining, 1)
        self.assertTrue(self.hg.count("two", "a key %\n\xe9", 1).allowed)
        denied = self.hg.check("two", "a key %\n\xe9")
        self.assertEqual((denied.allowed, denied.verdict, denied.why, denied.status), (False, "deny", "limit", 429))
        self.assertEqual(denied.headers()["Retry-After"], str(denied.retry))
        self.assertEqual(self.hg.check("two", "large", cost=3).why, "cost")

    def test_settle(self):
        self.hg.check("tokens", "s", cost=0.5)
        self.hg.settle("tokens", "s", -0.25)
        self.assertEqual(self.hg.peek("tokens", "s").remaining, 9.75)

    def test_places(self):
        lease = self.hg.acquire("places", "p")
        self.assertTrue(lease.allowed and lease.lease)
        self.assertFalse(self.hg.acquire("places", "p").allowed)
        self.assertTrue(self.hg.release("places", "p", lease.lease).allowed)
        self.assertTrue(self.hg.acquire("places", "p", lease=5).allowed)

    def test_ask(self):
        denied = self.hg.ask("/.env", client="203.0.113.1")
        self.assertEqual((denied.allowed, denied.status, denied.why, denied.rule), (False, 404, "policy", ""))
        self.assertEqual(self.hg.ask("/none", client="203.0.113.1").verdict, "none")
        for n in range(4):
            answer = self.hg.ask("/login", "POST", client="203.0.113.2")
            self.assertEqual(answer.allowed, n < 2, answer)
            self.hg.report(answer, 401)
            counted(self.hg, "203.0.113.2", max(1 - n, 0))
        self.assertEqual(self.hg.ask("/v1", headers={"X-Api-Key": "k-1"}).remaining, 2)
        self.assertEqual(self.hg.ask("/v1", headers=[("x-api-key", "k-1")], country="NZ").remaining, 1)
        long = self.hg.ask("/v1", headers={"x-api-key": "k" * 5000})
        self.assertEqual((long.why, long.status), ("unfit", 431))
        self.assertEqual(self.hg.ask("/" + "x" * 9000).status, 414)

    def test_errors(self):
        said = []
        hg = Headgate(timeout=5, fail="deny", on_error=said.append)
        answer = hg.check("no-such-rule", "k")
        self.assertEqual((answer.allowed, answer.error, answer.status, answer.verdict),
                         (False, "unknown-rule", 503, "none"))
        self.assertTrue(self.hg.check("no-such-rule", "k").allowed)
        mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        mute.bind(("127.0.0.1", 0))
        slow = Headgate("127.0.0.1:%d" % mute.getsockname()[1], timeout=0.02, on_error=said.append)
        self.assertEqual((slow.check("two", "k").error, slow.check("two", "k").allowed), ("timeout", True))
        mute.close()
        self.assertEqual({slow.check("two", "k").error for _ in range(3)} - {"timeout"}, {"unreachable"})
        self.assertEqual(said[:2], ["unknown-rule", "timeout"])
        hg.close()
        slow.close()
        for bad in (dict(fail="open"), dict(address="nowhere")):
            with self.assertRaises(ValueError):
                Headgate(**bad)

    def test_threads_and_forks(self):
        passed = []
        ask = lambda: [passed.append(self.hg.check("hundred", "t").allowed) for _ in range(50)]
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((passed.count(True), len(passed)), (100, 200))
        self.assertLessEqual(len(self.hg._free), 4)
        child = os.fork()
        answer = self.hg.check("hundred", "fork-%d" % os.getpid())
        if child == 0:
            os._exit(0 if answer.remaining == 99 else 1)
        self.assertEqual((answer.remaining, os.waitpid(child, 0)[1]), (99, 0))

    def test_far(self):
        far = Headgate("192.0.2.1:4290")
        self.assertEqual(len(far._sent(far._rule("check", "r", "k"), b"1")), 160)
        far.close()

    def test_unix(self):
        hg = Headgate(os.environ["HEADGATE_UNIX"], timeout=5)
        self.assertEqual(hg.check("two", "unix").remaining, 1)
        hg.close()


class Async(unittest.TestCase):
    def test_questions(self):
        async def run():
            hg = AsyncHeadgate(timeout=5)
            answers = await asyncio.gather(*(hg.check("hundred", "async") for _ in range(150)))
            self.assertEqual(sum(a.allowed for a in answers), 100)
            self.assertEqual((await hg.check("no-such-rule", "k")).error, "unknown-rule")
            first = hg._transport
            await hg.check("hundred", "async-2")
            self.assertIs(hg._transport, first)
            await hg.close()
            away = AsyncHeadgate("127.0.0.1:9", timeout=0.5)
            self.assertIn((await away.check("two", "k")).error, ("unreachable", "timeout"))
            await away.close()

        asyncio.run(run())


def hello(environ, start_response):
    start_response("401 Unauthorized" if environ["PATH_INFO"] == "/login" else "200 OK", [("X-Cost", "0.3001")])
    return [b"hello"]


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *args):
        pass


class Middlewares(unittest.TestCase):
    def get(self, base, path, client):
        request = urllib.request.Request(base + path, headers={"X-Forwarded-For": client})
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.headers
        except urllib.error.HTTPError as error:
            return error.code, error.headers

    def test_wsgi(self):
        hg = Headgate(timeout=5)
        self.addCleanup(hg.close)
        app = wsgi(hello, hg, trusted=["127.0.0.0/8"], report_headers=["x-cost"])
        server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, handler_class=Quiet)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = "http://127.0.0.1:%d" % server.server_port
        self.assertEqual(self.get(base, "/%2eenv", "203.0.113.3")[0], 404)
        self.assertEqual(self.get(base, "/free", "203.0.113.3")[0], 200)
        for n in range(4):
            self.assertEqual(self.get(base, "/login", "203.0.113.4")[0], 401 if n < 2 else 429)
            counted(hg, "203.0.113.4", max(1 - n, 0))
        status, headers = self.get(base, "/v1", "203.0.113.5")
        self.assertEqual((status, headers["RateLimit"]), (200, '"api";r=2;t=60'))
        self.assertEqual(self.get(base, "/ai", "203.0.113.9")[1]["RateLimit"], '"money";r=9;t=3600')
        counted(hg, "203.0.113.9", 9.6999, "money")  # 0.25 before, 0.3001 after
        server.shutdown()
        server.server_close()
        by_rule = wsgi(hello, hg, rule="two", key=lambda environ: "wsgi")
        seen = []
        for _ in range(3):
            b"".join(by_rule({"PATH_INFO": "/", "REMOTE_ADDR": "192.0.2.1"}, lambda status, h: seen.append(status)))
        self.assertEqual(seen, ["200 OK", "200 OK", "429 Too Many Requests"])

    def test_asgi(self):
        async def app(scope, receive, send):
            status = 401 if scope["path"] == "/login" else 200
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})

        async def run():
            hg, plain = AsyncHeadgate(timeout=5), Headgate(timeout=5)
            self.addCleanup(plain.close)
            front = asgi(app, hg, trusted=["127.0.0.1"])

            async def get(path, client):
                sent = []

                async def send(message):
                    sent.append(message)

                await front({"type": "http", "method": "GET", "path": path, "query_string": b"a=b",
                             "client": ("127.0.0.1", 1), "headers": [(b"x-forwarded-for", client)]}, None, send)
                return sent[0]["status"], dict(sent[0]["headers"])

            self.assertEqual((await get("/.env", b"203.0.113.6"))[0], 404)
            for n in range(4):
                self.assertEqual((await get("/login", b"203.0.113.7"))[0], 401 if n < 2 else 429)
                await asyncio.to_thread(counted, plain, "203.0.113.7", max(1 - n, 0))
            self.assertEqual((await get("/v1", b"203.0.113.8"))[1][b"ratelimit"], b'"api";r=2;t=60')
            await hg.close()

        asyncio.run(run())

    def test_client(self):
        networks = _networks(["10.0.0.0/8", "2001:db8::/32"])
        for peer, forwarded, want in (
            ("192.0.2.1", "203.0.113.1", "192.0.2.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("10.0.0.1", "1.1.1.1, 203.0.113.1, 10.0.0.2", "203.0.113.1"),
            ("10.0.0.1", "203.0.113.1, odd, 10.0.0.2", "10.0.0.2"),
            ("::ffff:10.0.0.1", "2001:DB8::1, 2001:db8::2", "2001:db8::1"),
            ("unix:", "203.0.113.1", "unix:"),
        ):
            self.assertEqual(_client_of(peer, forwarded, networks), want)


if __name__ == "__main__":
    unittest.main()
