package config

import (
	"github.com/headgate-dev/headgate/edge/config/document"
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

// checkShedBy holds shed_by and epoch together, and with the kind. The default of epoch is taken
// beside any shed_by, as shown by config check --print.
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

// drawnRules returns shed_by of the rules with shed_by, by name; nil where none has.
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

// spreadOfRequests is the word for the value of retry_spread where the file has none.
const spreadOfRequests = "requests"

// spread parses a percentage, 0% included, or spreadOfRequests.
func spread(v value) (int, bool) {
	switch s, ok := v.text(); {
	case ok && s == spreadOfRequests:
		return 0, true
	case ok && s == "0%":
		return mitigation.NoSpread, true
	}
	return v.percent(mitigation.Whole, mitigation.Whole)
}

// spreadText is the text of part for spread.
func spreadText(part int) string {
	if part == 0 {
		return spreadOfRequests
	}
	return document.PercentText(max(part, 0), mitigation.Whole)
}

// checkBlast holds max_blast together with action: only a block can deny too many.
func (v value) checkBlast(r *mitigation.Rule) {
	if r.MaxBlast == 1 {
		v.without("max_blast", "must be 2 to 1000000 clients, or 0 for none: a block of one "+
			"client is what action block is for")
	}
	if r.MaxBlast > 0 && r.Action != mitigation.Block && !v.d.bad[join(v.path, "action")] {
		v.without("max_blast", "applies to action block only: write action: block, or leave it out")
	}
}
