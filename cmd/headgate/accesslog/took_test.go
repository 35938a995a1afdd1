package accesslog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
)

// TestTook: the time that a request took is read where a log has it, and only there.
func TestTook(t *testing.T) {
	const none = -1
	for line, want := range map[string]time.Duration{
		"1739291346\ta\tGET\t/\t200":                                                           none,
		"1739291346\ta\tGET\t/\t200\t0.25":                                                     250 * time.Millisecond,
		"1739291346\ta\tGET\t/\t200\t3\tmore":                                                  3 * time.Second,
		"1739291346\ta\tGET\t/\t200\tMozilla":                                                  none,
		"1739291346\ta\tGET\t/\t200\t-1":                                                       none,
		"1739291346\ta\tGET\t/\t200\tNaN":                                                      none,
		"1739291346\ta\tGET\t/\t200\t9e99":                                                     none,
		`::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326`:                         none,
		`::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "curl/8.5"`:          none,
		`::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "curl/8.5" 0.020`:    20 * time.Millisecond,
		`::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "curl" rt=1.500`:     1500 * time.Millisecond,
		`::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "curl" 192.0.2.1:80`: none,
		`{"ts":1739291346.5,"client":"a","path":"/","request_time":"0.125"}`:                   125 * time.Millisecond,
		`{"ts":1739291346.5,"request":{"client_ip":"a","uri":"/"},"duration":0.0015}`:          1500 * time.Microsecond,
		`{"ts":1739291346.5,"client":"a","path":"/","duration":5e-05}`:                         50 * time.Microsecond,
		`{"ts":1739291346.5,"client":"a","path":"/","duration":12}`:                            12 * time.Millisecond,
		`{"time":"2026-01-01T00:00:00Z","client":"a","path":"/","Duration":1500000}`:           1500 * time.Microsecond,
		`{"ts":1739291346.5,"client":"a","path":"/"}`:                                          none,
	} {
		var faults accesslog.Faults
		in, err := accesslog.NewReader(strings.NewReader(line+"\n"), "log", accesslog.Auto, &faults)
		if err != nil {
			t.Fatal(err)
		}
		rec := accesslog.Record{Took: 7}
		if err := in.Read(&rec); err != nil {
			t.Errorf("%s: %v %v", line, err, faults.First)
		} else if time.Duration(rec.Took) != want {
			t.Errorf("%s: took %v, want %v", line, time.Duration(rec.Took), want)
		}
	}
}
