package accesslog

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

const clf = ` - - [07/Mar/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 5`

// fronts are lines of each format and each prefix, all of the same request.
var fronts = []struct{ format, line string }{
	{"combined", `192.0.2.1 - - [07/Mar/2026:10:00:01 +0000] "GET /a?x=1 HTTP/1.1" 200 5 "-" "c"`},
	{"combined", `shop.t:44 192.0.2.1` + clf},
	{"combined", `shop.test 192.0.2.1 - u [07/Mar/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 5`},
	{"combined", `10.0.0.9:80 192.0.2.1` + clf},
	{"combined", `[::1]:80 192.0.2.1` + clf},
	{"combined", `- 192.0.2.1` + clf},
	{"combined", `Mar  7 10:00:01 web nginx: 192.0.2.1` + clf},
	{"combined", `<190>Mar  7 10:00:01 web nginx[9]: 192.0.2.1` + clf},
	{"combined", `2026-03-07T10:00:01.1+00:00 web nginx: 192.0.2.1` + clf},
	{"combined", `<165>1 2026-03-07T10:00:01Z web nginx 9 - [a@1 b="x]\" y"][c] ` +
		`192.0.2.1` + clf},
	{"combined", `2026-03-07T10:00:01.123456789Z stdout F 192.0.2.1` + clf},
	{"combined", `{"log":"192.0.2.1 - - [07/Mar/2026:10:00:01 +0000] \"GET /a HTTP/1.1\" 200 5\n"` +
		`,"stream":"stdout","time":"2026-03-07T10:00:01Z"}`},
	{"json", `{"ClientHost":"192.0.2.1","DownstreamStatus":200,"RequestMethod":"GET",` +
		`"RequestPath":"/a?x=1","StartUTC":"2026-03-07T10:00:01Z","time":"2026-03-07T11:00:09Z"}`},
	{"haproxy", `Mar  7 10:00:01 lb haproxy[1]: 192.0.2.1:33213 [07/Mar/2026:10:00:01.000] ` +
		`web~ app/s1 10/0/30/69/109 200 5 - - ---- 1/1/1/1/0 0/0 {a|b} "GET /a HTTP/1.1"`},
	{"envoy", `[2026-03-07T10:00:01Z] "GET /a?x=1 HTTP/1.1" 200 - 0 5 109 30 ` +
		`"192.0.2.1" "curl" "id" "shop.test" "10.0.0.1:80"`},
	{"alb", `https 2026-03-07T10:00:01Z app/lb/50 192.0.2.1:2817 10.0.0.1:80 0.1 0.2 0.3 200 ` +
		`200 34 5 "GET https://shop.test:443/a?x HTTP/1.1" "curl" - -`},
	{"cloudfront", "2026-03-07\t10:00:01\tFRA2\t5\t192.0.2.1\tGET\tshop.test\t/a\t200\t-\t" +
		"curl\tx=1\t-\tMiss\tid\tshop.test\thttps\t9\t0.109"},
}

// TestFronts reads each format behind each prefix.
func TestFronts(t *testing.T) {
	for _, c := range fronts {
		var rec Record
		var faults Faults
		r, err := NewReader(strings.NewReader("#Version: 1.0\n"+c.line+"\n"), "log", Auto, &faults)
		if err == nil {
			err = r.Read(&rec)
		}
		got := flatten(&rec)
		if got.Time, _, _ = strings.Cut(got.Time, "."); c.format == "envoy" {
			got.Client = string(rec.Forwarded)
		}
		want := flat{"1772877601", "192.0.2.1", "GET", "/a", 200}
		if err != nil || got != want || r.Format().String() != c.format {
			t.Errorf("%s\nwas read as %s: %+v, %v %v", c.line, r.Format(), got, err, faults.First)
		}
	}
}

// TestNoClient has lines whose first field is no client.
func TestNoClient(t *testing.T) {
	for line, want := range map[string]string{
		"Mar" + clf:                `first field "Mar" is no address`,
		"shop.t:4" + clf:           `the first field "shop.t:4" is no address`,
		"10.0.0.9 192.0.2.1" + clf: `two clients, "10.0.0.9" and "192.0.2.1"`,
		"a b 192.0.2.1" + clf:      `the first field "a" is no address`,
		"2026-03-07T10:00:01Z stdout P 192.0.2.1" + clf: "only a part of a line",
		`{"log":"192.0.2.1"}`:                           "only a part of a line",
		`{"log":1}`:                                     "not an object of docker's json-file",
	} {
		var faults Faults
		r, _ := NewReader(strings.NewReader(line), "log", Auto, &faults)
		var rec Record
		if err := r.Read(&rec); !errors.Is(err, io.EOF) || faults.Count != 1 ||
			!strings.Contains(faults.First[0].Error(), want) {
			t.Errorf("%s: %+v, %v %v, want %s", line, flatten(&rec), err, faults.First, want)
		}
	}
}

// FuzzFront: no prefix and no format has a client that is no address, or that is not in the line.
func FuzzFront(f *testing.F) {
	for _, c := range fronts {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var faults Faults
		r, err := NewReader(bytes.NewReader(line), "log", Auto, &faults)
		var rec Record
		if err != nil || r.Read(&rec) != nil || r.Format() == JSON || r.Format() == TSV {
			return
		}
		_, ok := address(rec.Client)
		if !ok && string(rec.Client) != "-" && !rec.NoPeer {
			t.Errorf("%q has the client %q", line, rec.Client)
		}
		if !bytes.HasPrefix(line, []byte("{")) && !bytes.HasPrefix(line, gzipMagic) &&
			!bytes.Contains(line, rec.Client) {
			t.Errorf("%q was read as of %q", line, rec.Client)
		}
	})
}
