//go:build !race

package surge_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/surge"
)

// visit is a request of a scene: what a log says of it, and what the model of a browser adds.
type visit struct {
	at                                int64
	client                            uint32
	method, path, country, ja4, extra string
	asn, status                       int
	headers                           [10]string // by headerNames
	bad                               bool       // of the scene, and not of the log
}

var headerNames = [...]string{
	"User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Referer", "Sec-Fetch-Mode",
	"Sec-CH-UA", "Cookie", "Content-Type", "X-Odd",
}

const (
	agent = iota
	accept
	language
	encoding
	referer
	fetchMode
	clientHints
	cookie
	contentType
	odd
)

// fill makes r of v, as a door does, with all headers.
func (v *visit) fill(r *request.Request) {
	r.Reset(nil)
	r.Sample = true
	v.read(r)
}

// fillFor makes r of v, with the headers that e looks at.
func (v *visit) fillFor(r *request.Request, e *policy.Engine) {
	r.Reset(e.Names())
	v.read(r)
	r.Status = 0
}

func (v *visit) read(r *request.Request) {
	a := netip.AddrFrom4([4]byte{
		byte(v.client >> 24), byte(v.client >> 16), byte(v.client >> 8), byte(v.client),
	})
	var f request.Reader
	clients := request.DefaultClients()
	f.Begin(r, &clients, netip.Addr{})
	f.Method([]byte(v.method))
	f.Target([]byte(v.path))
	f.Host([]byte("www.example.com"))
	f.Known(request.Country, []byte(v.country))
	f.Known(request.ASN, []byte(strconv.Itoa(v.asn)))
	f.Known(request.JA4, []byte(v.ja4))
	for i, value := range v.headers {
		if value != "" {
			f.Header([]byte(headerNames[i]), []byte(value))
		}
	}
	if v.extra != "" {
		f.Header([]byte("X-Extra"), []byte(v.extra))
	}
	f.Client(a)
	f.End()
	r.Status = v.status
}

// mixed returns bits that a client's number decides.
func mixed(x, salt uint32) uint32 {
	x = (x ^ salt*0x9e3779b9) * 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// among returns a place in weights, by bits.
func among(bits uint32, weights ...uint32) int {
	sum := uint32(0)
	for _, w := range weights {
		sum += w
	}
	bits %= sum
	for i, w := range weights {
		if bits < w {
			return i
		}
		bits -= w
	}
	return 0
}

var (
	countryNames = []string{"US", "DE", "GB", "IN", "FR", "BR", "NL", "CN", "RU", "JP"}
	languages    = []string{
		"en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.8", "en-GB,en;q=0.9", "en-IN,en;q=0.8",
		"fr-FR,fr;q=0.9", "pt-BR,pt;q=0.9", "nl-NL,nl;q=0.9", "zh-CN,zh;q=0.9", "ru-RU,ru;q=0.9",
		"ja-JP,ja;q=0.9",
	}
	robots = []string{
		"Googlebot/2.1 (+http://www.google.com/bot.html)", "bingbot/2.0", "python-requests/2.31",
		"curl/8.4", "Go-http-client/1.1", "Feedly/1.0", "UptimeRobot/2.0",
	}
)

// dress gives v what a log lacks, as its client decides: a model of the mix, not data.
func (v *visit) dress() {
	net := mixed(v.client>>16, 3)
	country := among(net, 30, 12, 10, 9, 7, 7, 5, 8, 6, 6)
	v.country, v.asn = countryNames[country], 1000+int(net%300)
	if h := mixed(v.client, 5); h%100 < 12 || v.method == "HEAD" {
		n := among(mixed(v.client, 9), 30, 20, 15, 10, 10, 10, 5)
		v.headers = [10]string{agent: robots[n], accept: "*/*", encoding: "gzip"}
		v.ja4 = "bot" + strconv.Itoa(n)
		return
	}
	v.browse(mixed(v.client, 5), country)
}

// browse gives v the headers of a browser that bits decide.
func (v *visit) browse(bits uint32, country int) {
	family, age := among(mixed(bits, 11), 62, 22, 16), among(mixed(bits, 12), 30, 20, 14, 10, 8, 6)
	system := []string{
		"Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "Linux; Android 14",
	}[among(mixed(bits, 13), 55, 25, 20)]
	v.headers = [10]string{
		accept: "text/html,*/*", language: languages[country], encoding: "gzip, br",
	}
	switch family {
	case 0:
		v.headers[agent] = fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 Chrome/%d.0.0.0",
			system, 126-age)
		v.headers[clientHints] = fmt.Sprintf(`"Chromium";v="%d"`, 126-age)
		v.ja4 = "t13d1516h2_" + strconv.Itoa(age/3)
	case 1:
		v.headers[agent] = fmt.Sprintf("Mozilla/5.0 (iPhone; CPU iPhone OS 17_%d) Safari/604.1",
			age)
		v.ja4 = "t13d2014h2_" + strconv.Itoa(age/4)
	default:
		v.headers[agent] = fmt.Sprintf("Mozilla/5.0 (%s; rv:%d.0) Firefox/%d", system, 128-age,
			128-age)
		v.ja4 = "t13d1715h2_" + strconv.Itoa(age/5)
	}
	if mixed(bits, 14)%100 < 93 {
		v.headers[fetchMode] = "navigate"
	}
	if mixed(bits, 15)%100 < 60 {
		v.headers[cookie] = "s=1"
	}
	if mixed(uint32(v.at/1e6), 16)%100 < 55 {
		v.headers[referer] = "https://www.example.com/"
	}
}

// began is the time of a scene's first request: noon.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// readLog returns the requests of a log, its time speed times as fast.
func readLog(t *testing.T, path string, speed float64) []visit {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read from
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var log []visit
	first := 0.0
	chance := rand.New(rand.NewPCG(7, 7))
	for lines := bufio.NewScanner(unzipped); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		at, err := strconv.ParseFloat(f[0], 64)
		if err != nil || len(f) != 5 || !strings.HasPrefix(f[3], "/") {
			continue
		}
		if first == 0 {
			first = at
		}
		status, _ := strconv.Atoi(f[4])
		client, err := netip.ParseAddr(f[1])
		if err != nil {
			t.Fatal(err)
		}
		b := client.As4()
		v := visit{
			at:     began.UnixNano() + int64((at-first+chance.Float64())/speed*1e9),
			client: uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]),
			method: f[2], path: f[3], status: status,
		}
		v.dress()
		log = append(log, v)
	}
	slices.SortFunc(log, func(a, b visit) int { return int(a.at - b.at) })
	if len(log) == 0 {
		t.Fatal("no requests in " + path)
	}
	return log
}

// blog is an excerpt of a real log, at two and a half requests a second.
func blog(t *testing.T) []visit {
	t.Helper()
	return readLog(t, filepath.Join("..", "..", "cmd", "headgate", "replay", "testdata", "traces",
		"web_blog_2016.tsv.gz"), 30)
}

// run is a watch in virtual time.
type run struct {
	*surge.Watch
	reports bool // statuses come by reports without headers, and not with the requests
	chance  *rand.Rand
	next    int64 // look
	r       request.Request
}

func newRun(s surge.Settings) *run {
	chance := rand.New(rand.NewPCG(1, 2))
	w := &run{
		Watch: surge.New([32]byte{1}, chance.Uint64), chance: chance,
		next: began.UnixNano() + int64(surge.Every),
	}
	w.Set(s, began.UnixNano())
	return w
}

// offer offers the requests of both lists in the order of their times, with the looks between, and
// calls each after a look.
func (w *run) offer(log, scene []visit, each func(now time.Time, r *surge.Report)) {
	for len(log)+len(scene) > 0 {
		from := &log
		if len(log) == 0 || len(scene) > 0 && scene[0].at < log[0].at {
			from = &scene
		}
		v := &(*from)[0]
		for v.at >= w.next {
			w.Look(w.next, false)
			each(time.Unix(0, w.next), w.Report())
			w.next += int64(surge.Every)
		}
		if w.chance.Uint32() < w.Share.Load() {
			if v.fill(&w.r); w.reports {
				w.r.Status = 0
			}
			w.Keep(&w.r, v.at, 0, false)
		}
		if w.reports && w.chance.Uint32() < w.Share.Load() {
			short := *v
			short.headers = [10]string{}
			short.fill(&w.r)
			w.Keep(&w.r, v.at, 0, true)
		}
		*from = (*from)[1:]
	}
}

// at returns the part of a log between two times from its beginning.
func between(log []visit, from, to time.Duration) []visit {
	n := func(d time.Duration) int {
		at, _ := slices.BinarySearchFunc(log, began.Add(d).UnixNano(),
			func(v visit, at int64) int { return int(v.at - at) })
		return at
	}
	return log[n(from):n(to)]
}
