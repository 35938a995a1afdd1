package resp_test

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestThrottle: CL.THROTTLE says the five numbers that redis-cell does.
func TestThrottle(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 1<<20)
	n.want("CL.THROTTLE user 2 1 60", "[0 3 2 -1 60]")
	n.want("cl.throttle user 2 1 60 2", "[0 3 0 -1 180]")
	n.want("CL.THROTTLE user 2 1 60 1", "[1 3 0 60 180]")
	n.want("CL.THROTTLE user 2 1 60 0", "[0 3 0 -1 180]")
	n.want("CL.THROTTLE user 2 1 60 4", "[1 3 0 -1 180]")
	n.want("CL.THROTTLE other 0 1 60", "[0 1 0 -1 60]")
	for _, line := range []string{
		"CL.THROTTLE user -1 1 60", "CL.THROTTLE user x 1 60", "CL.THROTTLE user 2 0 60", "CL.THROTTLE user 2 1 0", "CL.THROTTLE user 2 1 60 -1",
		"CL.THROTTLE user 2 1 60 9999999999999999999", "CL.THROTTLE user 2 1 99999999999999999", "CL.THROTTLE user 999999999999999999 1 60",
	} {
		n.want(line, "ERR value is not an integer or out of range")
	}
	// whole numbers of 64 bits, with either sign
	n.want("CL.THROTTLE large +1000000000000000000 +1000000000 1", "[0 1000000000000000001 1000000000000000000 -1 0]")
	n.want("CL.THROTTLE user 2 1 60 9223372036854775807", "[1 3 0 -1 180]")
	n.want("CL.THROTTLE user 2 1 60 +-1", "ERR value is not an integer or out of range")
	n.want("CL.THROTTLE user 2 1", "ERR wrong number of arguments")
	if s := n.door.Stats(); s.Requests != 18 || s.Malformed != 10 || s.Limited != 3 {
		t.Errorf("%+v", s)
	}
}

// TestThrottleModes: the rule lends its mode: in shadow nothing is denied, though it is counted.
func TestThrottleModes(t *testing.T) {
	t.Parallel()
	n := open(t, "shy", 1<<20)
	n.want("CL.THROTTLE user 0 1 60", "[0 1 0 -1 60]")
	n.want("CL.THROTTLE user 0 1 60", "[0 1 0 -1 60]")
	if s := n.door.Stats(); s.Limited != 1 {
		t.Errorf("%+v", s)
	}
}

// TestThrottleFull: without room for a key the failure mode of the rule decides, and it is counted.
func TestThrottleFull(t *testing.T) {
	t.Parallel()
	for rule, denied := range map[string]string{"cl.throttle": "[0 1 0 -1 60]", "closed": "[1 1 0 1 60]"} {
		n := open(t, rule, 0)
		answers := map[string]int{}
		for i := range 2000 {
			answers[n.do("CL.THROTTLE", fmt.Sprint(i), "0", "1", "60")]++
		}
		if s := n.door.Stats(); s.Full < 1000 || answers[denied] < 1000 {
			t.Errorf("%s: %d without room, %v", rule, s.Full, answers)
		}
	}
}

// TestThrottleNumbers: 64 sets of numbers are served at once, and one is let go when its keys are full
// again.
func TestThrottleNumbers(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 1<<20)
	for i := range 63 {
		n.want(fmt.Sprintf("CL.THROTTLE k%d %d 1 3600", i, i), fmt.Sprintf("[0 %d %d -1 3600]", i+1, i))
	}
	n.want("CL.THROTTLE short 0 1 1", "[0 1 0 -1 1]")
	n.want("CL.THROTTLE more 100 1 60", "ERR too many limits")
	n.want("CL.THROTTLE k9 9 1 3600", "[0 10 8 -1 7200]")
	doortest.WaitFor(t, func() bool { return n.do("CL.THROTTLE", "more", "100", "1", "60") == "[0 101 100 -1 60]" })
	n.want("CL.THROTTLE short 0 1 1", "ERR too many limits")
}
