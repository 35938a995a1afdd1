package config

import (
	"github.com/headgate-dev/headgate/edge/policy"
)

// The statuses of a denial that a policy may name.
const (
	leastStatus = 400
	mostStatus  = 599
)

// onDeny lists the fields of on_deny, each setting its part of o.
func onDeny(o *policy.OnDeny) []field {
	return []field{
		leaf("status", func(v value) {
			if n, ok := integer(leastStatus, mostStatus)(v); ok {
				o.Status = int(n)
			}
		}),
		leaf("announce", func(v value) {
			announce := true
			set(&announce, boolean)(v)
			o.Silent = !announce
		}),
		leaf("deceive", set(&o.Deceive, boolean)),
		leaf("body", func(v value) {
			text, ok := v.text()
			if ok && len(text) > policy.MaxBody {
				v.fault("has %d bytes, at most %d are allowed", len(text), policy.MaxBody)
				return
			}
			o.Body = text
		}),
	}
}

// boolean reads true or false.
func boolean(v value) (is, ok bool) {
	s, ok := v.text()
	switch {
	case !ok:
		return false, false
	case s != "true" && s != "false":
		v.fault("must be true or false")
		return false, false
	}
	return s == "true", true
}
