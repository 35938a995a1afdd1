package seam

import (
	"fmt"
	"slices"
	"strings"
)

// Row is one odd spelling, which is laid over plain requests.
type Row struct {
	Kind  string // rows of one kind are told together
	Name  string
	Bases string // the letters of the requests that it is laid over
	spell func(*Request)
}

// bases are the plain requests. All but the first two are denied as they are, and the first is.
var bases = map[byte]struct {
	from string
	lay  func(*Request)
}{
	'l': {Limited, func(*Request) {}},
	'f': {Skipped, func(*Request) {}},
	'p': {Skipped, func(r *Request) { r.Target = "/secret" }},
	'h': {Skipped, func(r *Request) { r.add("X-Api-Key", "secret") }},
	't': {Skipped, func(r *Request) { r.set("Host", "secret.test") }},
	'q': {Skipped, func(r *Request) { r.Target = "/?secret=1" }},
	'c': {Skipped, func(r *Request) { r.add("Cookie", "secret=1") }},
}

// always are bytes that no table of bytes leaves out.
const always = "\x00\x01\t\n\r\xff"

// bytesOf returns all bytes, or one in eight: others for another turn.
func bytesOf(turn int, all bool) (chosen []byte) {
	for b := range 256 {
		if all || b%8 == turn%8 || strings.IndexByte(always, byte(b)) >= 0 {
			chosen = append(chosen, byte(b))
		}
	}
	return chosen
}

// table collects rows.
type table struct {
	rows []Row
	all  bool // nothing is thinned out
}

func (t *table) row(kind, bases, name string, spell func(*Request)) {
	t.rows = append(t.rows, Row{kind, name, bases, spell})
}

// Rows returns the table: all of it, or with one byte in eight and one header in four.
func Rows(all bool) []Row {
	t := &table{all: all}
	t.row("plain", "lphtqc", "as it is", func(*Request) {})
	for _, name := range Judged() {
		t.row("plain", "f", name, func(r *Request) { r.set(name, "secret") })
	}
	t.headerBytes()
	t.headerValues()
	t.lineBytes()
	t.targets()
	t.hosts()
	t.lines()
	t.sizes()
	t.counts()
	t.escapes()
	return t.rows
}

// headerBytes has each byte in the name and in the value of each header that means something.
func (t *table) headerBytes() {
	for turn, name := range Names {
		for n, b := range bytesOf(turn, t.all) {
			c := string([]byte{b})
			forms := []func(r *Request){
				func(r *Request) { r.set(name, c) },
				func(r *Request) { r.set(name, "x"+c+"y") },
				func(r *Request) { r.set(name, "secret"+c) },
				func(r *Request) { r.set(name, c+"secret") },
				func(r *Request) { r.add(name+c, "secret") },
				func(r *Request) { r.add(c+name, "secret") },
			}
			for i, form := range forms {
				if !t.all && i != n%len(forms) && strings.IndexByte("\x01\t", b) < 0 {
					continue
				}
				t.row("a byte in a header: "+name, "lf", fmt.Sprintf("%s 0x%02x %d", name, b, i), form)
			}
		}
	}
}

// values are such as one header or another means something by.
var values = []string{
	"", " ", ",", ";", "secret", "127.9.9.9", "127.0.0.1", "127.9.9.9, 127.9.9.9", "for=127.9.9.9", "::1", "127.9.9.9:80", "[127.9.9.9]", "127.9.9.9,", ",127.9.9.9", "127.9.9.9,\x01",
	"127.9.9.9, unknown", "/free/x", "free/x", "http://ok.test/free/x", "http://ok.test", "//free/x", "GET", "get", "POST", "\x01", "x", "-", "none", "allow", "deny", "delay deceive", "100-continue", "200-ok", "close", "keep-alive",
	"upgrade", "websocket", "h2c", "chunked", "gzip, chunked", "chunked, chunked", "\x0bchunked", "identity", "xchunked", "0", "5", "-1", "+5", "05", "5, 5", "5 5", "0x5", "99999999999999999999",
	"bytes=0-0", "trailers", "cross-site", "same-origin", "NZ", "gold", "4294967296", "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "Thu, 26 Nov 2026 01:00:00 GMT",
}

// headerValues has headers with values that mean something, as one, twice, and named by Connection.
func (t *table) headerValues() {
	for n, name := range Names {
		body := map[string]string{"Content-Length": "hello", "Transfer-Encoding": "5\r\nhello\r\n0\r\n\r\n"}[name]
		for i, value := range values {
			if !t.all && i%4 != n%4 && !strings.HasPrefix(name, "X-") {
				continue
			}
			is := fmt.Sprintf("%s: %q", name, value)
			t.row("a value: "+name, "l", is, func(r *Request) { r.set(name, value); r.Body = body })
			t.row("a value twice: "+name, "lf", is, func(r *Request) { r.add(name, value, value); r.Body = body })
		}
		t.row("named by Connection", "lfph", name, func(r *Request) { r.add("Connection", name); r.add(name, "secret") })
		t.row("named by Connection", "lpht", "close, "+name, func(r *Request) { r.add("Connection", "close, "+name) })
		t.row("no header twice", "lpht", name, func(r *Request) { r.add(name, "", "") })
		t.row("values around", "lf", name, func(r *Request) { r.add(name, "x", "secret", "x") })
		for _, space := range []string{"\t", " \t ", "\v", "\f", "\u00a0", "\u3000"} {
			t.row("blanks around: "+name, "lf", fmt.Sprintf("%s: %q", name, space), func(r *Request) { r.add(name, space+"secret"+space) })
		}
	}
	for _, by := range []string{"Content-Length", "Transfer-Encoding"} {
		t.row("framed twice", "lpht", by, func(r *Request) {
			r.Method = "POST"
			r.add("Content-Length", "5")
			r.add("Transfer-Encoding", "chunked")
			r.Body = map[string]string{"Content-Length": "hello", "Transfer-Encoding": "0\r\n\r\n"}[by]
			r.Body += "GET /secret HTTP/1.1\r\nHost: secret.test\r\n\r\n"
		})
	}
}

// lineBytes has each byte in the method, the target and the host.
func (t *table) lineBytes() {
	for _, b := range bytesOf(0, t.all) {
		c, is := string([]byte{b}), fmt.Sprintf("0x%02x", b)
		method := func(where, text string) {
			t.row("a byte in the method", "lpht", is+" "+where, func(r *Request) { r.Method = text })
		}
		method("alone", c)
		method("within", "G"+c+"T")
		method("before", c+"GET")
		method("behind", "GET"+c)
	}
	for _, b := range bytesOf(1, t.all) {
		c, is := string([]byte{b}), fmt.Sprintf("0x%02x", b)
		target := func(where string, of func(target string) string) {
			t.row("a byte in the target", "lpq", is+" "+where, func(r *Request) { r.Target = of(r.Target) })
		}
		target("alone", func(string) string { return c })
		target("before", func(target string) string { return c + target })
		target("in front", func(target string) string { return "/" + c + target })
		target("behind", func(target string) string { return target + c })
		target("behind a slash", func(target string) string { return target + "/" + c })
		target("within", func(target string) string { return target[:len(target)/2] + c + target[len(target)/2:] })
		target("in a host", func(target string) string { return "http://a" + c + target })
	}
	for _, b := range bytesOf(2, t.all) {
		c, is := string([]byte{b}), fmt.Sprintf("0x%02x", b)
		host := func(where string, of func(host string) string) {
			t.row("a byte in the host", "lpht", is+" "+where, func(r *Request) { r.set("Host", of(r.Get("Host"))) })
		}
		host("alone", func(string) string { return c })
		host("before", func(host string) string { return c + host })
		host("behind", func(host string) string { return host + c })
		host("before another", func(host string) string { return host + c + "x.test" })
		host("behind another", func(host string) string { return "x.test" + c + host })
		host("within", func(host string) string { return host[:len(host)/2] + c + host[len(host)/2:] })
		host("in a port", func(host string) string { return host + ":8" + c })
	}
}

// sizes has everything in sizes around the bounds of somebody.
func (t *table) sizes() {
	for _, n := range []int{1, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 7000, 8191, 8192, 8193, 11800, 15000, 16384, 32768, 65536, 70000} {
		is, long := fmt.Sprint(n), strings.Repeat("x", n)
		for i, name := range Names {
			if !t.all && i%4 != n%4 {
				continue
			}
			t.row("a size: "+name, "l", is, func(r *Request) { r.set(name, long) })
		}
		add := func(what, bases string, spell func(*Request)) { t.row("a size: "+what, bases, is, spell) }
		add("another header", "phtqc", func(r *Request) { r.add("X-Any", long) })
		add("a referer", "phtqc", func(r *Request) { r.add("Referer", long) })
		add("a header's name", "lphtqc", func(r *Request) { r.add(long, "x") })
		add("the query", "lphtqc", func(r *Request) { r.Target += "?" + long })
		add("a path", "lhtc", func(r *Request) { r.Target = "/" + long })
		add("slashes", "p", func(r *Request) { r.Target = strings.Repeat("/", n) + "secret" })
		add("dots", "p", func(r *Request) { r.Target = strings.Repeat("/.", n/2) + "/secret" })
		add("up and down", "p", func(r *Request) { r.Target = "/" + long + "/../secret" })
		add("a query before a parameter", "f", func(r *Request) { r.Target = "/?" + long + "&secret=1" })
		add("a cookie before a cookie", "fl", func(r *Request) { r.add("Cookie", "a="+long+"; secret=1") })
		add("a value with a blank", "fl", func(r *Request) { r.add("X-Api-Key", strings.Repeat(" ", n)+"secret"+strings.Repeat(" ", n)) })
		add("a target's host", "lph", func(r *Request) { r.Target = "http://" + long + r.Target })
		add("a host", "lphqc", func(r *Request) { r.set("Host", long) })
		add("a user of a host", "tl", func(r *Request) { r.set("Host", long+"@"+r.Get("Host")) })
		add("a port", "tl", func(r *Request) { r.set("Host", r.Get("Host")+":"+strings.Repeat("1", n)) })
		add("a method", "lpht", func(r *Request) { r.Method = long })
		add("a list of addresses", "l", func(r *Request) { r.add("X-Forwarded-For", strings.Repeat("1.1.1.1,", n/8)+"127.9.9.9") })
		add("a fragment", "lphtq", func(r *Request) { r.Target += "#" + long })
		add("two headers", "lphtqc", func(r *Request) { r.add("X-Any", long); r.add("Cookie", "x="+long) })
	}
}

// counts has everything in numbers around the bounds of somebody.
func (t *table) counts() {
	for _, n := range []int{1, 2, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257, 400} {
		is := fmt.Sprint(n)
		add := func(what, bases string, spell func(*Request)) { t.row("a count: "+what, bases, is, spell) }
		for i, name := range Names {
			if !t.all && i%4 != n%4 && name != "X-Api-Key" {
				continue
			}
			many := slices.Repeat([]string{"x"}, n)
			add(name, "lpht", func(r *Request) { r.add(name, many...) })
			add(name+" before", "f", func(r *Request) { r.add(name, append(many, "secret")...) })
			add(name+" at first", "lpht", func(r *Request) {
				for range n {
					r.Headers = slices.Insert(r.Headers, 0, Header{name, "x"})
				}
			})
		}
		add("headers", "lphtqc", func(r *Request) {
			for i := range n {
				r.Headers = slices.Insert(r.Headers, 0, Header{fmt.Sprintf("X-%d", i), "x"})
			}
		})
		add("parameters", "flq", func(r *Request) { r.Target = "/?" + strings.Repeat("a=1&", n) + "secret=1" })
		add("empty parameters", "f", func(r *Request) { r.Target = "/?" + strings.Repeat("&", n) + "secret=1" })
		add("values of a parameter", "f", func(r *Request) { r.Target = "/?" + strings.Repeat("secret=0&", n) + "secret=1" })
		add("cookies", "fl", func(r *Request) { r.add("Cookie", strings.Repeat("a=1; ", n)+"secret=1") })
		add("cookies of the name", "f", func(r *Request) { r.add("Cookie", strings.Repeat("secret=0;", n)+"secret=1") })
		add("headers of cookies", "fl", func(r *Request) { r.add("Cookie", append(slices.Repeat([]string{"a=1"}, n), "secret=1")...) })
		add("segments", "p", func(r *Request) { r.Target = strings.Repeat("/x", n) + strings.Repeat("/..", n) + "/secret" })
		add("escaped segments", "p", func(r *Request) { r.Target = strings.Repeat("/x", n) + strings.Repeat("%2F..", n) + "%2Fsecret" })
	}
}

// escapes has the escape of every byte wherever it may change a path.
func (t *table) escapes() {
	n := 0
	for b := range 256 {
		if !t.all && b%8 != 3 && strings.IndexByte(always+"/%.;?# \\", byte(b)) < 0 {
			continue
		}
		for _, escape := range []string{fmt.Sprintf("%%%02X", b), fmt.Sprintf("%%%02x", b), fmt.Sprintf("%%25%02X", b), fmt.Sprintf("%%%%%02X", b)} {
			add := func(form string, bases string) {
				t.row("an escape in a path", bases, strings.ReplaceAll(form, "E", escape), func(r *Request) { r.Target = strings.ReplaceAll(form, "E", escape) })
			}
			if n++; !t.all && n%4 != b%4 && b != '/' && b != '%' {
				continue
			}
			for _, form := range []string{"/E", "/Esecret", "/secretE", "/secret/E", "/E/secret", "/sEecret", "/x/E../secret", "/x/..E/secret", "/x/..Esecret", "/xE../secret", "/x/.E/secret", "/x/E./secret", "/xE/../secret", "/secretEx/..", "/secret/xE..", "/EE/secret", "/secretE?x", "http://ok.test/Esecret", "/EEsecret"} {
				add(form, "pf")
			}
			for _, form := range []string{"/E", "/free/E", "/freeE", "/freeE../x", "/free/..Ex", "/free/E../x", "/free/.E/x", "/free/..E/x", "/freeE..Ex", "/Efree/x", "/x/..Efree/x", "/xE../free/x", "/free/xE../../x"} {
				add(form, "l")
			}
		}
	}
	for i, c := range "/secret" {
		target := "/secret"[:i] + fmt.Sprintf("%%%02x", c) + "/secret"[i+1:]
		t.row("an escape in a path", "pf", target, func(r *Request) { r.Target = target })
	}
}
