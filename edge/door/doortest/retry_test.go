package doortest_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestSameButRetry holds the comparison to every form in which answers have the time of a denial.
func TestSameButRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"deny why=limit retry=66 rule=a", "deny why=limit retry=60 rule=a", true},
		{"deny why=limit retry=67 rule=a", "deny why=limit retry=60 rule=a", false},
		{"deny why=limit retry=59 rule=a", "deny why=limit retry=60 rule=a", false},
		{"deny why=limit retry=9 rule=a", "deny why=limit retry=9 rule=b", false},
		{"deny retry=10 rule=a", "deny retry=9 rule=a", false},
		{"retry_after=61 reset=60", "retry_after=60 reset=60", true},
		{"retry_after=60 reset=61", "retry_after=60 reset=60", false},
		{`"retry_after":66`, `"retry_after":60`, true},
		{`"retry_after": 67`, `"retry_after": 60`, false},
		{"Retry-After: 66", "Retry-After: 60", true},
		{"Retry-After: 67", "Retry-After: 60", false},
		{"[deny retry 63 status]", "[deny retry 60 status]", true},
		{"[OVER login left 0 reset 63]", "[OVER login left 0 reset 60]", true},
		{"[OVER login left 0 reset 67]", "[OVER login left 0 reset 60]", false},
		{"[OK login left 0 reset 63]", "[OK login left 0 reset 60]", false},
		{"retry=60 retry=60", "retry=60", false},
	} {
		if got := doortest.SameButRetry(c.got, c.want); got != c.same {
			t.Errorf("%q, %q: %v", c.got, c.want, got)
		}
	}
}
