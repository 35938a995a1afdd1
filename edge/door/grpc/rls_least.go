package grpc

import "strconv"

// least is the status the headers of envoyproxy/ratelimit show: of the last limit over, else of the
// limit with the least left.
type least struct {
	known, over             bool
	limit, remaining, until uint64
}

// note notes a status.
func (l *least) note(over bool, limit, remaining, until uint64) {
	if over || !l.known || !l.over && remaining < l.remaining {
		*l = least{true, over, limit, remaining, until}
	}
}

// theirHeaders are the names of the headers by the value of rls.headers.
var theirHeaders = map[string][3]string{
	"ratelimit":   {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"},
	"x-ratelimit": {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"},
}

// appendLeast appends the headers of the least status, if any.
func (k *caller) appendLeast(b []byte, form string) []byte {
	if !k.least.known {
		return b
	}
	names := theirHeaders[form]
	for i, n := range [...]uint64{k.least.limit, k.least.remaining, k.least.until} {
		b = appendHeader(b, 3, names[i], strconv.AppendUint(k.values[:0], n, 10))
	}
	return b
}
