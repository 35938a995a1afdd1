package seam

import (
	"fmt"
	"slices"
	"strings"
)

// targets has each form of a target.
func (t *table) targets() {
	for _, form := range []string{
		"", "*", "/*", "?x", "#", "/#x", "/?#x", "?", "??", "//", "///", "/.", "/..", "/./", "/../", ".", "..", "./", "x", "x/", "ok.test:80", ":80", "http:", "http:/", "http://", "http:///", "http://?x",
		"http://#", "http://ok.test", "http://ok.test/", "http://ok.test?x", "http://ok.test#x", "http://a?x", "http://a#x", "http://a:99999/", "http://[abc/", "http://[::1]/", "http://x@a/", "http://a b/", "HTTP://ok.test", "https://ok.test/", "ftp://ok.test/",
		"x://ok.test/", "://ok.test/", "1x://a/", "a.b+c-d://a/", "http://ok.test:/", "http://ok.test:80/", "http://ok.test:x/", "http://secret.test/", "http://secret.test", "http://secret.test?x", "http://SECRET.test./", "http://x@secret.test/",
		"http://secret.test:8080/", "http:\\\\ok.test\\", "/http://ok.test/", "//ok.test/", "//secret.test/", "\\", "/\\", "%2F", "%2f", "%", "/%", "/%2", "/%zz", "/%u002f", "/\xc0\xaf", "/free/", "/free", "free/x", "/free/../x", "/free/..%2Fx", "/free/%2E%2E/x",
		"/free/%2e%2e%2fx", "/free/..\\x", "/free/..;/x", "/free%2F..%2Fx", "/%66ree/x/../..", "/free//../x", "/free/x/../../x", "http://ok.test/free/../x", "http://ok.test/free/..%2Fx", "/x/..%2Ffree/x", "/free/./..//x", "/x/../free/../x",
		"/?http://ok.test/free/x", "/#/../free/x", "/x#/../../free/x", "/free/x#/../../x", "/free/x?/../../x", "/free/..;x/x", "/free/x;/../..;/x", "/free;/../x", "/FREE/../x", "/Free/..%2Fx", "/free/. ./x", "/free/..#", "/free/..?x", "/free/%2e%2e#",
	} {
		t.row("a form of the target", "lht", fmt.Sprintf("%q", form), func(r *Request) { r.Target = form })
	}
	for _, form := range []string{
		"/secret?", "/secret#", "/secret/", "/secret//", "/secret/.", "/secret/x/..", "/./secret", "//secret", "///secret", "/x/../secret", "/../secret", "/x//../secret", "/x/./../secret", "secret", "?/secret", "http:///secret", "http://ok.test/secret",
		"HTTP://ok.test/secret", "https://ok.test:443/secret", "http://secret.test/secret", "http://a?/secret", "x://a/secret", "http://ok.test//secret", "http://ok.test/x/../secret", "/%73ecret", "/%53ecret", "/%73%65%63%72%65%74", "/%2Fsecret", "/%2fsecret",
		"%2Fsecret", "/secret%2F", "/secret%2F%2F", "/secret%2E", "/secret/%2E", "/secret/%2e%2e/secret", "/x/%2e%2e/secret", "/x/..%2Fsecret", "/x%2F..%2Fsecret", "/x%2F../secret", "/x/.%2e/secret", "/x/%2e./secret", "/%2e/secret", "/.%2Fsecret", "/static/..%2Fsecret",
		"/secret%23", "/secret%3F", "/secret%3Fx", "/secret%20", "/secret%00", "/secret%", "/secret%2", "/secret%zz", "/secret%252F", "/%252Fsecret", "/x/..%252Fsecret", "/secret;x", "/secret;", "/secret;/", "/x;y/../secret", "/x/..;/secret", "/x/..;y/secret", "/;x/secret", "/secret;x%2Fy", "/SECRET", "/SECRET/", "/Secret;x", "/SECRET.", "/%53ECRET%2F", "/secret. .", "/secret./", "/secret;x.", "/secret.;x", "/secret%20%2E", "/Secret", "/secret.", "/secret..", "/secret+",
		"/\\secret", "\\secret", "/x/..\\secret", "/secret\\", "/secret/?x", "/secret/#x", "/secret?x#y", "/secret&x", "/secret%26", "/secre%74", "/secre%74/", "/%2F%2Fsecret%2F", "/%2E%2E/secret", "/..%2Fsecret", "/x/y/..%2F..%2Fsecret", "/x/y/..%2F../secret", "/x/y/../..%2Fsecret",
		"*/secret", "/*/../secret", "*", "secret.test:80", "/secret HTTP/1.1", "/secret x", " /secret", "\t/secret", "/secret\t", "/?x /secret", "/secret\x00", "/secret\xa0", "/secr\xc3\xa9t", "/secr%C3%A9t",
	} {
		t.row("a form of a denied path", "plf", fmt.Sprintf("%q", form), func(r *Request) { r.Target = form })
	}
	for _, query := range []string{
		"?secret=1", "?x&secret=1", "?secret=0&secret=1", "??secret=1", "?&&secret=1", "?%73ecret=1", "?secret=%31", "?secret=1#x", "?x=?&secret=1", "#?secret=1", "?secret=1;x", "?x;secret=1", "?secret=+1", "?secret=1&", "?SECRET=1", "?secret[]=1", "?secret%3D1",
		"?x#&secret=1", "?%&secret=1", "?=&secret=1", "?x=%zz&secret=1",
	} {
		t.row("a form of a denied parameter", "fl", query, func(r *Request) { r.Target += query })
		t.row("a form of a denied parameter", "fl", "http://ok.test"+query, func(r *Request) { r.Target = "http://ok.test" + query })
	}
	for _, method := range []string{"", "get", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PURGE", "PROPFIND", "PRI", "GET/", "ODD_ONE", strings.Repeat("M", 64), strings.Repeat("M", 300)} {
		t.row("a method", "lphtqc", short(method), func(r *Request) { r.Method = method })
		t.row("a method", "lpht", "* "+short(method), func(r *Request) { r.Method, r.Target = method, "*" })
	}
	for _, version := range []string{"", "HTTP/0.9", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/1.1 ", " HTTP/1.1", "http/1.1", "HTTP/1.10", "HTTP/11", "x"} {
		t.row("a version", "lphtqc", version, func(r *Request) { r.Version = version })
		t.row("a version without Host", "lphqc", version, func(r *Request) { r.Version = version; r.drop("Host") })
	}
}

// hosts has odd hosts, and two of them.
func (t *table) hosts() {
	odd := []string{
		"", " ", ".", "..", ":", ":80", "@", "x@", "a:", "a:0", "a:99999", "a:x", "a:80:80", "[", "]", "[]", "[abc", "abc]", "[::1]", "[::1]:80", "[::1", "::1", "[v1.x]", "a b", "a,b", "a/b", "a?b", "a#b", "a\\b", "a%b", "%61", "x@a", "x:y@a", "a@b@c", "_", "-", "*", "*.test",
		"127.0.0.1", "127.0.0.1:4291", "localhost", "0x7f.1", "xn--a", "caf\u00e9", "\"a\"", "<a>", "{a}", "a|b", "a^b", "$host", strings.Repeat("h", 63) + ".test", strings.Repeat("h", 253), strings.Repeat("h", 254), strings.Repeat("h", 255), strings.Repeat("h", 256), strings.Repeat("h.", 127) + "h",
	}
	for _, host := range odd {
		t.row("an odd host", "lphqc", fmt.Sprintf("%q", short(host)), func(r *Request) { r.set("Host", host) })
	}
	for _, host := range []string{
		"SECRET.TEST", "secret.test.", "secret.test..", "secret.test:", "secret.test:80", "secret.test:99999", "secret.test:x", "secret.test:80:80", "secret.test.:80", "x@secret.test", "x:y@secret.test", "x@y@secret.test", "@secret.test", " secret.test ", "\tsecret.test\t", ".secret.test",
		"secret.test/", "secret.test/x", "secret.test?", "secret.test#", "secret.test\\", "secret.test,", "secret.test,ok.test", "ok.test,secret.test", "secret.test ok.test", "secret.test@ok.test", "[secret.test]", "%73ecret.test", "secret%2etest", "secret\u3002test", "\uff53ecret.test", "http://secret.test",
	} {
		t.row("a form of a denied host", "tl", fmt.Sprintf("%q", host), func(r *Request) { r.set("Host", host) })
		t.row("a form of a denied host in the target", "fl", fmt.Sprintf("%q", host), func(r *Request) { r.Target = "http://" + strings.TrimSpace(host) + "/" })
	}
	for _, two := range [][]string{{"ok.test", "secret.test"}, {"secret.test", "ok.test"}, {"secret.test", "secret.test"}, {"", "secret.test"}, {"secret.test", ""}, {"[abc", "ok.test"}, {}} {
		t.row("so many hosts", "lphqc", fmt.Sprintf("%q", two), func(r *Request) { r.drop("Host"); r.add("Host", two...) })
		t.row("so many hosts beside a target's", "lphqc", fmt.Sprintf("%q", two), func(r *Request) {
			r.drop("Host")
			r.add("Host", two...)
			r.Target = "http://secret.test" + r.Target
		})
	}
	t.row("so many hosts beside a target's", "lpht", "ok", func(r *Request) { r.Target = "http://ok.test" + r.Target })
}

// lines has lines that are no header, and separators between those that are.
func (t *table) lines() {
	for _, line := range []string{
		" folded", "\tfolded", "no colon", ":", ": no name", "X-Any", "X-Any :secret", "X-Any : secret", "X-Any\t: secret", " X-Any: secret", "X Any: secret", "X-Any:secret", "X-Any:\tsecret", "X-Any:\r\n secret", "X-Any:\n\tsecret", "X-Any: x\r\n secret", "X-Any: secret\r",
		"X-Any: x\rX-Api-Key: secret", "X-Any: x\nX-Api-Key: secret", "X-Any: x\n\nGET /secret " +
			"HTTP/1.1\nHost: secret.test\n", "X-Any: x\r\n\r\nGET /secret HTTP/1.1\r\nHost: " +
			"secret.test\r\n", "\x00", "\x00: x", "x\x00y: z", "\xff: x", "GET / HTTP/1.1", "X_Api_Key: secret", "X-Api_Key: secret",
		"Content-Length : 0", "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", "Transfer-Encoding:chunked", "transfer-encoding: x, chunked", "Host : secret.test", "Host: \r\n secret.test", "Headgate_Tier: gold", "X_Forwarded_For: 127.9.9.9", "X_Original_Uri: /free/x", "X-Original-Uri : /free/x",
	} {
		t.row("a line", "lphtqc", fmt.Sprintf("%q", line), func(r *Request) { r.Headers = append(r.Headers, Header{Value: line}) })
		t.row("a first line", "lpht", fmt.Sprintf("%q", line), func(r *Request) { r.Headers = slices.Insert(r.Headers, 0, Header{Value: line}) })
	}
}
