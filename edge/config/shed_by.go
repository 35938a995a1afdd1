package config

import (
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// shedBy parses the part of a request by which a drop ratio is drawn; request is "".
func shedBy(v value) (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	part, err := policy.ParseShedBy(s)
	if err != nil {
		v.fault("%v", err)
	}
	return part, err == nil
}

// checkShedBy holds shed_by and epoch together, and with the kind. The default of epoch is taken beside any
// shed_by, as config check --print shows it.
func (v value) checkShedBy(r *mitigation.Rule) {
	if r.ShedBy == "" {
		if r.Epoch != mitigation.DefaultEpoch && !v.d.bad[join(v.path, "shed_by")] {
			v.without("epoch", "applies to shed_by only: by request each draw is of its own")
		}
		r.Epoch = 0
		return
	}
	if r.Kind == mitigation.Concurrency {
		v.without("shed_by", "is not for kind concurrency, which has no drop ratio: leave it out")
	}
	if r.Epoch == 0 {
		r.Epoch = mitigation.DefaultEpoch
	}
}

// drawnRules returns shed_by of the rules that have it, by name; nil where none has.
func drawnRules(rules []mitigation.Rule) (all map[string]string) {
	for _, r := range rules {
		if r.ShedBy != "" {
			if all == nil {
				all = map[string]string{}
			}
			all[r.Name] = r.ShedBy
		}
	}
	return all
}

// spread parses a percentage, 0% included.
func spread(v value) (int, bool) {
	if s, ok := v.text(); ok && s == "0%" {
		return 0, true
	}
	return v.percent(mitigation.Whole, mitigation.Whole)
}
