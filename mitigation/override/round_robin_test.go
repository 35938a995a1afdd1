package override

import (
	"fmt"
	"testing"
)

// TestRoundRobin checks that messages with room for three of ten overrides carry all of them in
// turn, those that come and go meanwhile too, and that nothing is left where all fit.
func TestRoundRobin(t *testing.T) {
	var s Set
	give := func(k int) {
		if _, err := s.Issue(1000,
			Override{
				Rule: "r", Key: fmt.Append(nil, k), Verb: Block, Until: 61_000,
				Node: "n",
			}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 10 {
		give(k)
	}
	var r RoundRobin
	send := func(room int) (sent string, left int) {
		left = r.Append(s.All(1000), func(record []byte) bool {
			o, err := Parse(record)
			if err != nil {
				t.Fatal(err)
			}
			if room--; room >= 0 {
				sent += string(o.Key) + " "
			}
			return room >= 0
		})
		return sent, left
	}
	for n, want := range []string{"0 1 2 ", "3 4 5 ", "6 7 8 ", "9 0 1 "} {
		if sent, left := send(3); sent != want || left != 7 {
			t.Errorf("message %d: %q, %d left, want %q and 7", n, sent, left, want)
		}
	}
	give(25) // behind 2
	if sent, left := send(3); sent != "2 25 3 " || left != 8 {
		t.Errorf("with another override: %q, %d left", sent, left)
	}
	if sent, left := send(20); sent != "4 5 6 7 8 9 0 1 2 25 3 " || left != 0 {
		t.Errorf("with room for all: %q, %d left", sent, left)
	}
	s = Set{}
	if sent, left := send(3); sent != "" || left != 0 {
		t.Errorf("without overrides: %q, %d left", sent, left)
	}
}
