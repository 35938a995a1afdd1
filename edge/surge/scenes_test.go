//go:build !race

package surge_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/surge"
)

// scene is a surge: each makes a request of the second since its beginning.
type scene struct {
	name  string
	kind  surge.Kind
	rate  int // requests a second
	lasts time.Duration
	each  func(v *visit, since float64, chance *rand.Rand)
	good  float64 // share of the log that the policies cover at most; 0: 0.5 %
}

// anybody returns a client among so many; 0: of a large part of the internet.
func anybody(chance *rand.Rand, among int) uint32 {
	if among == 0 {
		return 0x20000000 | chance.Uint32()>>3
	}
	return 0x20000000 | mixed(uint32(chance.IntN(among)), 77)>>3
}

func anyCountry(chance *rand.Rand) int { return chance.IntN(len(countryNames)) }

// article gives v a page of the blog.
func article(v *visit, chance *rand.Rand) {
	v.path = fmt.Sprintf("/%d/0%d/", 2012+chance.IntN(5), 1+chance.IntN(9))
}

// noName leaves out the headers that a machine forgets.
func (v *visit) without(headers ...int) {
	for _, h := range headers {
		v.headers[h] = ""
	}
}

// stuffing guesses passwords.
func stuffing(v *visit, chance *rand.Rand) {
	v.client, v.method, v.path, v.status = anybody(chance, 1500), "POST", "/wp-login.php", 401
	v.browse(4242, anyCountry(chance))
	v.headers[contentType] = "application/x-www-form-urlencoded"
}

func scenes() []scene {
	return []scene{
		{
			"flood of 10,372 addresses", surge.Attack, 25, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client = anybody(chance, 10372)
				v.path, v.status = "/search/works/"+strconv.Itoa(chance.IntN(1e6)), 503
				v.browse(chance.Uint32(), 0)
				v.without(language, cookie, referer)
			}, 0,
		},
		{
			"botnet with an odd header", surge.Attack, 60, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client = anybody(chance, 4000)
				article(v, chance)
				v.browse(mixed(v.client, 1), anyCountry(chance))
				v.headers[odd] = "1"
			}, 0,
		},
		{
			"credential stuffing", surge.Attack, 12, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) { stuffing(v, chance) }, 0,
		},
		{
			"crawler of 500 networks", surge.Attack, 20, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client = anybody(chance, 500)&^255 | chance.Uint32()&255
				v.path = fmt.Sprintf("/category/c%d/page/%d", chance.IntN(40), chance.IntN(900))
				v.browse(chance.Uint32(), anyCountry(chance))
				v.without(fetchMode, cookie, referer)
			}, 0.01,
		},
		{
			"crowd of an article", surge.Crowd, 80, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client, v.path = anybody(chance, 0), "/2016/03/the-article/"
				v.dress()
				v.headers[referer] = "https://news.example/"
				v.without(cookie)
			}, 0,
		},
		{
			"crowd of a country", surge.Crowd, 80, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client, v.path = anybody(chance, 0), "/promo/"
				v.browse(chance.Uint32(), 5)
				v.country = "BR"
				v.without(cookie, referer)
			}, 0,
		},
		{
			"one address", surge.Few, 200, 2 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client, v.path, v.status = 0x2a000001, "/"+strconv.Itoa(chance.IntN(1000)), 404
				v.dress()
			}, 0,
		},
		{
			"flood that looks like people", surge.Crowd, 60, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client, v.path, v.status = anybody(chance, 0), "/search/", 503
				v.dress()
			}, 0,
		},

		{
			"attack that changes its name half way", surge.Attack, 40, 6 * time.Minute,
			func(v *visit, since float64, chance *rand.Rand) {
				v.client, v.path = anybody(
					chance,
					3000,
				), "/api/items/"+strconv.Itoa(
					chance.IntN(1e5),
				)
				v.browse(chance.Uint32(), anyCountry(chance))
				v.without(cookie, referer)
				v.headers[agent] = "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/119.0"
				if since > 180 {
					v.headers[agent] = "okhttp/4.9.1"
					v.path = "/export/" + strconv.Itoa(chance.IntN(1e5))
				}
			}, 0,
		},
		{
			"attack that leaves its header and its path", surge.Attack, 50, 6 * time.Minute,
			func(v *visit, since float64, chance *rand.Rand) {
				v.client = anybody(chance, 5000)
				article(v, chance)
				v.browse(mixed(v.client, 1), anyCountry(chance))
				if v.headers[odd] = "a7"; since > 180 {
					v.without(odd, language)
					v.path = "/search/q/" + strconv.Itoa(chance.IntN(1e6))
				}
			}, 0,
		},
		{
			"crowd without referer, of one browser's app", surge.Crowd, 70, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) { // a link in a letter
				v.client, v.path = anybody(chance, 0), "/newsletter/spring/"
				v.browse(chance.Uint32(), anyCountry(chance))
				v.without(referer, cookie)
				v.ja4 = fmt.Sprintf("t13d1516h2_%d", chance.IntN(3))
			}, 0,
		},
		{
			"crowd of phones", surge.Crowd, 70, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client, v.path = anybody(chance, 0), "/live/match/"
				v.browse(chance.Uint32(), anyCountry(chance))
				if chance.IntN(10) < 8 {
					v.headers[agent] = fmt.Sprintf("Mozilla/5.0 (Linux; Android %d; K) Chrome/%d.0",
						10+chance.IntN(5), 110+chance.IntN(17))
				}
				v.headers[referer] = "https://t.example/"
			}, 0,
		},
		{
			"botnet beside a crawler", surge.Attack, 120, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				article(v, chance)
				if v.bad = chance.IntN(4) == 0; v.bad {
					v.client = anybody(chance, 4000)
					v.browse(mixed(v.client, 1), anyCountry(chance))
					v.headers[odd] = "1"
					return
				}
				v.client = 0x2a000001
				v.headers = [10]string{agent: "crawler/1", accept: "*/*"}
			}, 0,
		},
		{
			"slow crawler", surge.Attack, 8, 8 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				v.client = anybody(chance, 900)
				v.path = "/archive/" + strconv.Itoa(chance.IntN(1e6))
				v.browse(chance.Uint32(), anyCountry(chance))
				v.without(language, fetchMode, cookie, referer)
			}, 0,
		},
		{
			"stuffing in a crowd", surge.Attack, 90, 5 * time.Minute,
			func(v *visit, _ float64, chance *rand.Rand) {
				if v.bad = chance.IntN(3) == 0; v.bad {
					stuffing(v, chance)
					return
				}
				v.client, v.path = anybody(chance, 0), "/2016/03/the-article/"
				v.dress()
				v.headers[referer] = "https://news.example/"
				v.without(cookie)
			}, 0,
		},
	}
}

// TestScenes: each surge is named for what it is within thirty seconds; where it is an attack, the
// policies of its findings cover the most of it and hardly anything of the log.
func TestScenes(t *testing.T) {
	log := blog(t)
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, log)
		})
	}
}

const learning = 3600 * time.Second

func (s *scene) check(t *testing.T, log []visit) {
	t.Helper()
	begins := learning + 10*time.Minute
	chance := rand.New(rand.NewPCG(9, 9))
	var bad []visit
	for since := 0.0; since < s.lasts.Seconds(); since += 1 / float64(s.rate) {
		v := visit{
			at:     began.Add(begins).UnixNano() + int64(since*1e9),
			method: "GET", status: 200, bad: true,
		}
		s.each(&v, since, chance)
		bad = append(bad, v)
	}
	w := newRun(surge.Settings{Sample: 200, Learn: learning, MinRate: 5})
	var named time.Duration
	w.offer(between(log, 0, begins+s.lasts+2*time.Minute), bad,
		func(now time.Time, r *surge.Report) {
			since := now.Sub(began.Add(begins))
			if since < 0 && r.State == string(surge.Attack) {
				t.Errorf("%s before it began: %s", since, r.Findings[0].Sentence())
			}
			if since >= 0 && named == 0 && r.State == string(s.kind) {
				named = since
			}
			if s.kind != surge.Attack && r.State == string(surge.Attack) {
				t.Errorf("%s: %s", since, r.Findings[0].Sentence())
			}
		})
	if named == 0 || named > 30*time.Second {
		t.Errorf("named after %s", named)
	}
	r := w.Report()
	for i := range r.Findings {
		t.Logf("%s %s over %v: %s", r.Findings[i].Begun.Sub(began.Add(begins)), r.Findings[i].Kind,
			r.Findings[i].Over, r.Findings[i].Sentence())
	}
	if s.kind == surge.Attack {
		s.cover(t, r, bad, between(log, 0, begins))
	}
	if r.State != surge.Quiet {
		t.Errorf("two minutes after its end: %s", r.State)
	}
}

// TestReportsTellOfRefusals: where a proxy asks with headers, and reports statuses by path alone, a
// run of guesses that looks like people in every header is an attack for its refusals.
func TestReportsTellOfRefusals(t *testing.T) {
	log := blog(t)
	for _, status := range []int{401, 200} {
		chance := rand.New(rand.NewPCG(9, 9))
		var bad []visit
		begins := learning + 10*time.Minute
		for since := 0.0; since < 60; since += 0.05 {
			v := visit{
				at:     began.Add(begins).UnixNano() + int64(since*1e9),
				client: anybody(chance, 3000), method: "POST", path: "/account", status: status,
			}
			v.dress()
			bad = append(bad, v)
		}
		w := newRun(surge.Settings{Sample: 200, Learn: learning, MinRate: 5})
		w.reports = true
		states := map[string]int{}
		w.offer(between(log, 0, begins+time.Minute), bad,
			func(_ time.Time, r *surge.Report) { states[r.State]++ })
		if attack := states[string(surge.Attack)] > 5; attack != (status == 401) {
			t.Errorf("%d: %v", status, states)
		}
	}
}

// TestAttackDoesNotBecomeUsual: an attack that lasts for hours stays one finding, and is named as
// long as it lasts.
func TestAttackDoesNotBecomeUsual(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 5))
	var all []visit
	hours := edgetest.Rounds(3, 5) // of which the attack begins after the first
	for at := 0.0; at < float64(hours)*3600; at += 0.25 {
		v := visit{at: began.UnixNano() + int64(at*1e9), method: "GET", status: 200}
		if at > 3600 && chance.IntN(4) > 0 {
			stuffing(&v, chance)
		} else {
			v.client = anybody(chance, 20000)
			article(&v, chance)
			v.dress()
		}
		all = append(all, v)
	}
	w := newRun(surge.Settings{Sample: 20, Learn: time.Hour, MinRate: 1})
	attacks := 0
	w.offer(all, nil, func(now time.Time, r *surge.Report) {
		if now.Sub(began) > time.Hour+2*time.Minute && r.State == string(surge.Attack) {
			attacks++
		}
	})
	r := w.Report()
	if looks := (hours-1)*720 - 24; attacks < looks-5 || r.Begun[surge.Attack] != 1 ||
		r.Findings[0].NoPolicy() != "" || r.Usual > 2 {
		t.Errorf("named in %d of %d looks, %d findings: %s", attacks, looks, len(r.Findings),
			r.Findings[0].Sentence())
	}
}

// cover judges requests by the policies of r's findings.
func (s *scene) cover(t *testing.T, r *surge.Report, bad, good []visit) {
	t.Helper()
	e := enforced(t, r)
	if e == nil {
		t.Fatal("no policy")
	}
	hit, of := covered(e, bad, true)
	if hit < 0.9*of {
		t.Errorf("%.0f of %.0f requests of the attack are covered", hit, of)
	}
	most := s.good
	if most == 0 {
		most = 0.005
	}
	if hit, _ := covered(e, good, false); hit > most*float64(len(good)) {
		t.Errorf("%.0f of %d requests of the log are covered", hit, len(good))
	}
}

// enforced returns an engine of the policies of r's attacks; nil: there is none.
func enforced(t *testing.T, r *surge.Report) *policy.Engine {
	t.Helper()
	text := ""
	for i := range r.Findings {
		text += r.Findings[i].Policy("enforce", time.Now().Add(time.Hour))
	}
	if text == "" {
		return nil
	}
	cfg, err := config.Parse("surge.yaml", []byte("rules: []\npolicies:\n"+text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	e, err := policy.Load(&cfg.Policies, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// covered returns how many of the requests that are bad, or are not, e denies.
func covered(e *policy.Engine, all []visit, bad bool) (hit, of float64) {
	var r request.Request
	var out policy.Result
	for i := range all {
		if all[i].bad != bad {
			continue
		}
		of++
		all[i].fillFor(&r, e)
		if e.Evaluate(&r, &out); out.Verdict == policy.Deny {
			hit++
		}
	}
	return hit, of
}
