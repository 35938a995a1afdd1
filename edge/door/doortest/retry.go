package doortest

import (
	"regexp"
	"strconv"
)

// SameButRetry reports whether got is want but for the times of denials: each may be longer by a
// tenth, as those of whole requests are where the rule does not say otherwise, and none may be
// shorter.
func SameButRetry(got, want string) bool {
	times := regexp.MustCompile(`((?i:retry)(?:[-_](?i:after))?"?(?:=|: ?| )|\[OVER [^\]]* reset )(\d+)`)
	g, w := times.FindAllStringSubmatch(got, -1), times.FindAllStringSubmatch(want, -1)
	if len(g) != len(w) || times.ReplaceAllString(got, "$1") != times.ReplaceAllString(want, "$1") {
		return false
	}
	for i := range w {
		if !inTenth(g[i][2], w[i][2]) {
			return false
		}
	}
	return true
}

// inTenth reports whether got is want, or more by up to a tenth of it.
func inTenth(got, want string) bool {
	g, errG := strconv.Atoi(got)
	w, errW := strconv.Atoi(want)
	return errG == nil && errW == nil && w <= g && g <= w+w/10
}
