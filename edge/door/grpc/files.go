package grpc

import (
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/edge/rls"
)

// find sets k.found to the files' limits for the descriptors, without limits replaced by others.
// The keys are in k.text: see descriptor.keyFrom. envoyproxy/ratelimit looks the tree up for each
// descriptor, and lets a limit with "replaces" take the place of the named limits in the same
// request; so all descriptors are looked up before the first is asked.
func (k *caller) find(domain *rls.Node) {
	for i := range k.descriptors {
		d := &k.descriptors[i]
		d.keyFrom = len(k.text)
		entries := k.entries[d.from:d.to]
		k.walk.Begin(domain)
		for j, e := range entries {
			// Step returns the value counted by, the request's if the file has no value, and
			// nothing if the file's own value says all.
			value := k.walk.Step(e.key, e.value, j == len(entries)-1)
			k.text = k.door.joiner.Append(k.text, d.keyFrom, value, len(entries) > 1)
		}
		k.text = k.door.joiner.End(k.text, d.keyFrom)
		d.keyTo = len(k.text)
		limit := k.walk.Limit
		if d.limited { // its own limit holds in place of the file's
			limit = nil
		}
		k.found = append(k.found, limit)
	}
	for _, by := range k.found {
		if by == nil || len(by.Replaces) == 0 {
			continue
		}
		for i, limit := range k.found {
			if limit != nil && limit.Name != "" && !limit.Unlimited &&
				slices.Contains(by.Replaces, limit.Name) {
				k.descriptors[i].replaced = true
			}
		}
	}
}

// askFound makes p ask the limit the files have for d; nil: there is none.
func (k *caller) askFound(p *ask.Part, r *limitRequest, d *descriptor, limit *rls.Limit) {
	cost, use := r.hitsOf(d)
	switch {
	case limit == nil || limit.Unlimited || d.replaced:
		*p = ask.Part{Answer: ask.Answer{Why: ask.ByNone}}
	// requests_per_unit: 0
	case limit.Banned():
		k.deny(p, use, limit)
	case limit.Quota:
		k.session.AddQuota(p, gate.Ask{
			Rule: limit.Rule,
			Key:  k.text[d.keyFrom:d.keyTo], Cost: cost,
		}, use)
	default:
		k.session.AddQuestion(p, gate.Ask{
			Rule: limit.Rule,
			Key:  k.text[d.keyFrom:d.keyTo], Cost: cost,
		}, use)
	}
}

// deny has p denied for a limit of 0, unless p takes nothing or the limit is in shadow. A quota of
// 0 denies as quotas do.
func (k *caller) deny(p *ask.Part, use ask.Use, limit *rls.Limit) {
	takes := use != ask.Look && use != ask.Return
	switch passes := limit.Shadow || !takes || k.door.room.Killed(); {
	case !passes && limit.Quota:
		k.session.AddNothing(p)
	case !passes:
		k.session.Deny(p)
	default:
		*p = ask.Part{Answer: ask.Answer{Why: ask.ByNone}}
		if takes {
			p.Shadow, p.Trial = true, limit.Name
		}
		if limit.Quota {
			k.session.Spare()
		}
	}
}

// appendFixed appends the fields of a DescriptorStatus where no rule was asked: of an unlimited
// descriptor, and of one that nothing passes. So the answer looks as envoyproxy/ratelimit's does:
// an unlimited descriptor has all there is left, a banned one its unit and the seconds of it.
func (k *caller) appendFixed(b []byte, i int) []byte {
	d, unit, name := &k.descriptors[i], uint64(0), ""
	switch {
	case d.limited && d.limit.perUnit == 0:
		unit = d.limit.unit // 1..4
	case d.limited || i >= len(k.found) || k.found[i] == nil || d.replaced:
		return b
	case k.found[i].Unlimited:
		return pb.AppendNumber(b, 3, math.MaxUint32)
	default:
		unit, name = k.found[i].Unit, k.found[i].Name
	}
	b, at := pb.Begin(b, 2)
	b = pb.End(pb.AppendBytes(pb.AppendNumber(b, 2, unit), 3, []byte(name)), at)
	until := uint64(unitWindows[unit] / time.Second) // above 0
	k.least.note(k.parts[i].Deny || k.parts[i].Over, 0, 0, until)
	b, at = pb.Begin(b, 4)
	return pb.End(pb.AppendNumber(b, 1, until), at)
}
