//go:build !race

package surge_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/surge"
)

// excerpts holds parts of real logs.
var excerpts = filepath.Join("..", "..", "cmd", "headgate", "replay", "testdata", "traces")

// named returns the kinds of the findings in a log of its own, by how many looks have said so.
func named(log []visit, s surge.Settings) (looks map[string]int, attacks []surge.Finding) {
	w := newRun(s)
	looks = map[string]int{}
	w.offer(log, nil, func(_ time.Time, r *surge.Report) {
		looks[r.State]++
		for i := range r.Findings {
			f := &r.Findings[i]
			known := slices.ContainsFunc(
				attacks,
				func(a surge.Finding) bool { return a.ID == f.ID },
			)
			if f.Kind == surge.Attack && !known {
				attacks = append(attacks, *f)
			}
		}
	})
	return looks, attacks
}

// TestSilence: ordinary traffic, with its robots and its guesses at passwords, is no attack.
func TestSilence(t *testing.T) {
	for log, speed := range map[string]float64{
		"web_blog_2016": 30, "web_longtail_2005_2018": 2500,
	} {
		looks, attacks := named(readLog(t, filepath.Join(excerpts, log+".tsv.gz"), speed),
			surge.Settings{Sample: 200, Learn: 20 * time.Minute, MinRate: 5})
		if looks[surge.Quiet] < 500 {
			t.Errorf("%s: %v", log, looks)
		}
		for _, f := range attacks {
			t.Errorf("%s: %s", log, f.Sentence())
		}
	}
}
