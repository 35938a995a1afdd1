package config

import (
	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
)

// The statuses of a denial a policy may name.
const (
	// A status below would tell a browser or a proxy the request was answered.
	leastStatus = 400
	mostStatus  = 599
)

// onDeny lists the fields of on_deny, each setting a part of o.
func onDeny(o *policy.OnDeny) []field {
	return []field{
		leaf("status", func(v value) {
			if n, ok := integer(leastStatus, mostStatus)(v); ok {
				o.Status = int(n)
			}
		}).like(schema.Whole(leastStatus, mostStatus), "429", "The status of a denial."),
		// The field says the usual case by the default; in policy.OnDeny the zero value is the
		// usual case, the other way round.
		leaf("announce", func(v value) {
			announce := true
			set(&announce, boolean)(v)
			o.Silent = !announce
		}).like(schema.Bool(), "true", "Whether a denial says when to come back."),
		leaf("deceive", set(&o.Deceive, boolean)).like(schema.Bool(), "false",
			"Whether the proxy answers as if the request had passed."),
		leaf("body", func(v value) {
			text, ok := v.text()
			// The body is sent with each denial of a flood: the bound keeps a denial cheaper than
			// most answers.
			if ok && len(text) > policy.MaxBody {
				v.fault("has %d bytes, at most %d are allowed", len(text), policy.MaxBody)
				return
			}
			o.Body = text
		}).like(schema.Text(policy.MaxBody), `""`, "The body of a denial."),
	}
}

// boolean reads true or false. yes, on and True are booleans to some versions of YAML and texts to
// others, so none is taken.
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
