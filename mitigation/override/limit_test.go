package override_test

import (
	"errors"
	"testing"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// TestLimits: a limit keeps its number on the way, holds up to 366 days, and ends by an Unset that
// is newer; what is out of bounds is refused.
func TestLimits(t *testing.T) {
	t.Parallel()
	const now = 1_800_000_000_000
	var s override.Set
	is, err := s.Issue(now, override.Override{
		Rule: "r", Key: []byte("k"), Verb: override.Limit, Node: "n",
		Until:  now + override.MaxLimit.Milliseconds(),
		Number: mitigation.Number{Limit: 7, Burst: 9},
	})
	if err != nil || !is.OfLimit() || !is.InForce(now+override.MaxTTL.Milliseconds()+1) {
		t.Fatalf("%+v, %v", is, err)
	}
	record := override.Append(nil, &is)
	again, err := override.Parse(record)
	if err != nil || again.Compare(&is) != 0 || again.Number != is.Number {
		t.Fatalf("%+v, %v", again, err)
	}
	var other override.Set
	if news, err := other.Merge(now, again); err != nil || news != override.Newest {
		t.Errorf("%v, %v", news, err)
	}
	end, err := s.Issue(now+1, override.Override{
		Rule: "r", Key: []byte("k"), Verb: override.Unset, Node: "n",
	})
	if err != nil || end.InForce(now+1) || end.Keep != is.Keep {
		t.Errorf("%+v, %v", end, err)
	}
	for name, change := range map[string]func(*override.Override){
		"no limit":   func(o *override.Override) { o.Number.Limit = 0 },
		"large":      func(o *override.Override) { o.Number.Limit = mitigation.MaxLimit + 1 },
		"burst":      func(o *override.Override) { o.Number.Burst = -1 },
		"verb":       func(o *override.Override) { o.Verb = override.Unset + 1 },
		"too long":   func(o *override.Override) { o.Until += 1000; o.Keep = o.Until },
		"long block": func(o *override.Override) { o.Verb = override.Block },
	} {
		bad := is
		change(&bad)
		if _, err := other.Merge(now, bad); !errors.Is(err, override.ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range record {
		if _, err := override.Parse(record[:n]); !errors.Is(err, override.ErrBad) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}
