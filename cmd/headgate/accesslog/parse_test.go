package accesslog

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// flat is a Record that can be compared and read in a message.
type flat struct {
	Time, Client, Method, Path string
	Status                     int
}

func flatten(r *Record) flat {
	return flat{
		string(r.AppendTime(nil)), string(r.Client), string(r.Method),
		string(r.Path), r.Status,
	}
}

var goodLines = []struct {
	name   string
	format Format
	line   string
	want   flat
}{
	{
		"tsv whole seconds", TSV, "1455944445\t10.56.58.122\tGET\t/robots.txt\t200",
		flat{"1455944445", "10.56.58.122", "GET", "/robots.txt", 200},
	},
	{
		"tsv microseconds, no status", TSV, "1739291346.553931\t10.102.129.9\tMYSQLD\tport-3306\t-",
		flat{"1739291346.553931", "10.102.129.9", "MYSQLD", "port-3306", 0},
	},
	{
		"tsv nanoseconds, query, sixth field", TSV, "0.000000001\t::1\tGET\t/a?b=c\t404\textra",
		flat{"0.000000001", "::1", "GET", "/a", 404},
	},
	{"tsv keeps trailing zeros", TSV, "7.500\tc\tm\t/\t200", flat{"7.500", "c", "m", "/", 200}},
	{
		"combined west of UTC",
		Combined,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /x HTTP/1.0" 200 5`,
		flat{"971211336", "1.2.3.4", "GET", "/x", 200},
	},
	{
		"combined east of UTC by half an hour",
		Combined,
		`::1 - - [01/Jan/2025:05:30:00 +0530] "GET / HTTP/1.1" 200 5`,
		flat{"1735689600", "::1", "GET", "/", 200},
	},
	{
		"combined with a blank in the user",
		Combined,
		`::2 - b c [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5`,
		flat{"1735689600", "::2", "GET", "/", 200},
	},
	{
		"escaped quote", Combined, `::1 - - [01/Jan/2025:00:00:00 +0000] "GET /\"x\\" 200 5`,
		flat{"1735689600", "::1", "GET", `/\"x\\`, 200},
	},
	{
		"combined without protocol",
		Combined,
		`::1 - - [01/Jan/2025:00:00:00 +0000] "GET /x?y" 200 5`,
		flat{"1735689600", "::1", "GET", "/x", 200},
	},
	{
		"combined blank in the path",
		Combined,
		`::1 - - [01/Jan/2025:00:00:00 +0000] "GET /x y HTTP/1.1" 200 5`,
		flat{"1735689600", "::1", "GET", "/x y", 200},
	},
	{
		"combined no request", Combined, `::1 - - [01/Jan/2025:00:00:00 +0000] "-" 408 0`,
		flat{"1735689600", "::1", "", "-", 408},
	},
	{
		"combined leap second",
		Combined,
		`::1 - - [31/Dec/2016:23:59:60 +0000] "GET / HTTP/1.1" 200 5`,
		flat{"1483228800", "::1", "GET", "/", 200},
	},
	{
		"combined decimals",
		Combined,
		`::1 - - [01/Jan/2025:00:00:00.125 +0000] "GET / HTTP/1.1" 200 5`,
		flat{"1735689600.125", "::1", "GET", "/", 200},
	},
	{
		"json nginx",
		JSON,
		`{"time_iso8601":"2025-01-01T00:00:00+00:00","remote_addr":"a","request_method":"GET","request_uri":"/x?y","status":"200"}`,
		flat{"1735689600", "a", "GET", "/x", 200},
	},
	{
		"json msec, request line",
		JSON,
		`{"msec":"1735689600.250","remote_addr":"a","request":"GET /x?y HTTP/1.1","status":200}`,
		flat{"1735689600.250", "a", "GET", "/x", 200},
	},
	{
		"json number of milliseconds",
		JSON,
		`{"time":1735689600250,"client":"a","method":"GET","path":"/"}`,
		flat{"1735689600.250", "a", "GET", "/", 0},
	},
	{
		"json caddy",
		JSON,
		`{"ts":1735689600.5,"status":200,"request":{"client_ip":"a","remote_ip":"b","method":"GET","uri":"/x?y"}}`,
		flat{"1735689600.5", "a", "GET", "/x", 200},
	},
	{
		"json null falls through to the next name",
		JSON,
		`{"time_iso8601":null,"ts":1,"remote_addr":null,"client_ip":"a","uri":"/"}`,
		flat{"1", "a", "", "/", 0},
	},
}

func TestParseLines(t *testing.T) {
	for _, c := range goodLines {
		t.Run(c.name, func(t *testing.T) {
			var rec Record
			if err := formats[c.format].parse([]byte(c.line), &rec); err != nil {
				t.Fatalf("%s: %v", c.line, err)
			}
			if diff := cmp.Diff(c.want, flatten(&rec)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.line, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		format Format
		line   string
		want   error
	}{
		{TSV, "1455944445\ta\tGET\t/", errTSVFields},
		{TSV, "yesterday\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "-1\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "1.\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "1.0000000001\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "1.2.3\ta\tGET\t/\t200", errNotSeconds},
		{TSV, "99999999999\ta\tGET\t/\t200", errTimeRange},
		{TSV, "99999999999999999999999\ta\tGET\t/\t200", errTimeRange},
		{TSV, "1\t\tGET\t/\t200", errNoClient},
		{Combined, `::1 - - 01/Jan/2025:00:00:00 "GET / HTTP/1.1" 200 5`, errNoTime},
		{Combined, `::1 - - [01/Jan/2025:00:00:00 +0000] GET`, errNoRequest},
		{Combined, `::1 - - [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1`, errNoRequest},
		{Combined, `::1 - - [01/Jan/2025:00:00:00 +0000] "GET /\" 200 5`, errNoRequest},
		{Combined, `::1 - - [01/Jan/2025] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{Combined, `::1 - - [31/Apr/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{Combined, `::1 - - [01/anF/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{Combined, `::1 - - [01/Jan/2025:24:00:00 +0000] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{Combined, `::1 - - [01/Jan/2025:00:00:00 *0000] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{Combined, `::1 - - [01/Jan/2025:00:00:00,5 +0000] "GET / HTTP/1.1" 200 5`, errCLFTime},
		{JSON, `{"remote_addr":"a"}`, errJSONTime},
		{JSON, `{"ts":1}`, errNoClient},
		{JSON, `{"ts":"noon","remote_addr":"a"}`, errJSONWrite},
	} {
		var rec Record
		err := formats[c.format].parse([]byte(c.line), &rec)
		if !errors.Is(err, c.want) {
			t.Errorf("%v %q: error %v, want %v", c.format, c.line, err, c.want)
		}
	}
}

func TestParseRefusesBrokenJSON(t *testing.T) {
	for _, line := range []string{`{"ts":1`, `[1]`, `{"ts":1,"request":{]}`} {
		var rec Record
		if err := parseJSON([]byte(line), &rec); err == nil {
			t.Errorf("%s was read as %+v", line, flatten(&rec))
		}
	}
}

func TestDetect(t *testing.T) {
	for line, want := range map[string]Format{
		`{"ts":1}`:                        JSON,
		"1\ta\tGET\t/\t200":               TSV,
		"1\ta\tGET\t/":                    Combined,
		`::1 - - [01/Jan/2025:00:00:00 ]`: Combined,
	} {
		if got := detect([]byte(line)); got != want {
			t.Errorf("detect(%q) = %v, want %v", line, got, want)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for f := Auto; f <= CloudFront; f++ {
		if got, err := ParseFormat(f.String()); got != f || err != nil {
			t.Errorf("ParseFormat(%q) = %v, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("csv"); err == nil {
		t.Error(`ParseFormat("csv") took it`)
	}
}

func TestAppendTimeBefore1970(t *testing.T) {
	rec := Record{Time: -int64(250 * time.Millisecond), Digits: 2}
	if got := string(rec.AppendTime(nil)); got != "-1.75" {
		t.Errorf("a quarter second before 1970 = %s: seconds must floor, as unix times do", got)
	}
}
