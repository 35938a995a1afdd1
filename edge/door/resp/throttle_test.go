package resp_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestThrottle: CL.THROTTLE says the five numbers that redis-cell does.
func TestThrottle(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 1<<20)
	n.wants(`
		CL.THROTTLE user 2 1 60 → [0 3 2 -1 60]
		cl.throttle user 2 1 60 2 → [0 3 0 -1 180]
		CL.THROTTLE user 2 1 60 1 → [1 3 0 60 180]
		CL.THROTTLE user 2 1 60 0 → [0 3 0 -1 180]
		CL.THROTTLE user 2 1 60 4 → [1 3 0 -1 180]
		CL.THROTTLE other 0 1 60 → [0 1 0 -1 60]
	`)
	for _, line := range []string{
		"CL.THROTTLE user -1 1 60", "CL.THROTTLE user x 1 60", "CL.THROTTLE user 2 0 60",
		"CL.THROTTLE user 2 1 0", "CL.THROTTLE user 2 1 60 -1",
		"CL.THROTTLE user 2 1 60 9999999999999999999", "CL.THROTTLE user 2 1 99999999999999999",
		"CL.THROTTLE user 999999999999999999 1 60",
	} {
		n.want(line, "ERR value is not an integer or out of range")
	}
	// whole numbers of 64 bits, with either sign
	n.want(
		"CL.THROTTLE large +1000000000000000000 +1000000000 1",
		"[0 1000000000000000001 1000000000000000000 -1 0]",
	)
	n.wants(`
		CL.THROTTLE user 2 1 60 9223372036854775807 → [1 3 0 -1 180]
		CL.THROTTLE user 2 1 60 +-1 → ERR value is not an integer or out of range
		CL.THROTTLE user 2 1 → ERR wrong number of arguments
	`)
	if s := n.door.Stats(); s.Requests != 18 || s.Malformed != 10 || s.Limited != 3 {
		t.Errorf("%+v", s)
	}
}

// TestThrottleModes: the rule lends its mode: in shadow nothing is denied, though it is counted.
func TestThrottleModes(t *testing.T) {
	t.Parallel()
	n := open(t, "shy", 1<<20)
	n.wants(`
		CL.THROTTLE user 0 1 60 → [0 1 0 -1 60]
		CL.THROTTLE user 0 1 60 → [0 1 0 -1 60]
	`)
	if s := n.door.Stats(); s.Limited != 1 {
		t.Errorf("%+v", s)
	}
}

// TestThrottleFull: where no cell is free a new key is counted all the same.
func TestThrottleFull(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 0)
	for i := range 2000 {
		n.want(fmt.Sprint("CL.THROTTLE ", i, " 4 1 3600"), "[0 5 4 -1 3600]")
	}
	passed := 0
	for range 50 {
		if strings.HasPrefix(n.do("CL.THROTTLE", "new", "4", "1", "3600"), "[0") {
			passed++
		}
	}
	if s := n.door.Stats(); s.DisplacedKeys < 1000 || passed != 5 {
		t.Errorf("%d of 50 passed, want 5; %+v", passed, s)
	}
}

// TestThrottleNumbers: any number of sets of numbers is served, and keys keep their counts.
func TestThrottleNumbers(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 1<<20)
	for i := range 200 {
		n.want(fmt.Sprintf("CL.THROTTLE k%d %d 1 3600", i, i),
			fmt.Sprintf("[0 %d %d -1 3600]", i+1, i))
	}
	if s := n.door.Stats(); s.DisplacedNumbers != 200-64 {
		t.Errorf("%+v", s)
	}
	for question, want := range map[string]string{ // seconds have passed
		"CL.THROTTLE k0 0 1 3600": "[1 1 0 3",
		"CL.THROTTLE k9 9 1 3600": "[0 10 8 -1 7",
	} {
		if got := n.do(strings.Fields(question)...); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s…", question, got, want)
		}
	}
}
