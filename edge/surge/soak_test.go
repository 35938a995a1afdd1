//go:build soak && !race

package surge_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/surge"
)

// TestSilenceSoak: of the whole log of the blog, with a bar of one request a second, the one attack
// in it is named and nothing else.
func TestSilenceSoak(t *testing.T) {
	dir := os.Getenv("HEADGATE_TRACES")
	if dir == "" {
		t.Skip("HEADGATE_TRACES names no directory of whole traces")
	}
	log := readLog(t, filepath.Join(dir, "web_blog_2016.tsv.gz"), 40)
	for _, minRate := range []int{1, 5} {
		looks, attacks := named(log, surge.Settings{
			Sample: 200, Learn: time.Hour, MinRate: minRate,
		})
		t.Logf("from %d a second: looks %v, of attacks %d", minRate, looks, len(attacks))
		for i := range attacks {
			t.Log(attacks[i].Sentence())
			if !strings.Contains(attacks[i].Sentence(), "wp-login") {
				t.Error("is no attack")
			}
		}
	}
}

// TestPoison: who grows by a hundredth of usual traffic an hour is named before a third of the
// traffic is of that kind, or has become usual: then there is no policy.
func TestPoison(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 6))
	w := newRun(surge.Settings{Sample: 20, Learn: time.Hour, MinRate: 1})
	const usually = 5.0 // requests a second
	at, ends := began.UnixNano(), began.Add(40*time.Hour).UnixNano()
	for at < ends {
		since := time.Duration(at - began.UnixNano())
		grown := usually * 0.01 * max(0, since.Hours()-1)
		at += int64(1e9 / (usually + grown))
		v := visit{
			at: at, client: anybody(chance, 20000), method: "GET", path: "/a", status: 200,
		}
		article(&v, chance)
		v.dress()
		if v.bad = chance.Float64() < grown/(usually+grown); v.bad {
			v.headers[odd] = "1"
		}
		w.offer(nil, []visit{v}, func(_ time.Time, r *surge.Report) {
			for i := range r.Findings {
				f := &r.Findings[i]
				if !strings.Contains(f.Sentence(), "x-odd") || f.NoPolicy() != "" {
					continue
				}
				if share := grown / (usually + grown); share > 0.3 {
					t.Fatalf("a policy at a share of %.2f: %s", share, f.Sentence())
				}
			}
		})
	}
	t.Logf("%d findings", len(w.Report().Findings))
}
